"""Chunks of rows that threads take one after the other, in a table of several pages.

No chunk lies in two pages, so that who has one reads the codes of one page only.
"""

from __future__ import annotations

from hornbeam.runtime.kernel import part


@part
def page_of_chunk(first, first_at, last, last_at, n_pages, size, chunk, page, passed):
    """The page that holds a chunk of ``size`` rows, and how many chunks the pages before it have.

    ``first[first_at + page] .. last[last_at + page]`` are the rows in each page. The search
    begins with a page, and the chunks that the pages before it have: (0, 0), or what was
    returned for an earlier chunk. Chunks that are not there seem to be in the last page.
    """
    while page < n_pages - 1:
        here = (last[last_at + page] - first[first_at + page] + size - 1) // size
        if chunk < passed + here:
            break
        passed += here
        page += 1
    return page, passed
