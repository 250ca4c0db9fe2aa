"""Import a library and fit a few rows, in a new process; answer how long each took."""

import json
import sys
import time

started = time.perf_counter()
request = json.loads(sys.argv[1])
module = __import__(request["module"], fromlist=["*"])
estimator = getattr(module, request["estimator"])(**request["parameters"])
imported = time.perf_counter()

X = [[float((row * column) % 7) for column in range(1, 6)] for row in range(300)]
y = [int(row[0] > 2) + int(row[1] > 3) for row in X]
ready = time.perf_counter()
estimator.fit(X, y)
fitted = time.perf_counter()

answer: dict[str, object] = {"import": imported - started, "fit": fitted - ready}
if request.get("compile_times"):
    from hornbeam.runtime.kernel import compile_times

    answer["compile_times"] = compile_times()
print(json.dumps(answer))
