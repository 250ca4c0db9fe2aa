"""The small tables of the textbooks."""

from __future__ import annotations

import io

import pandas as pd

# Quinlan 1986 and Mitchell 1997: play tennis.
TENNIS = """\
outlook,temperature,humidity,wind,play
sunny,hot,high,weak,no
sunny,hot,high,strong,no
overcast,hot,high,weak,yes
rain,mild,high,weak,yes
rain,cool,normal,weak,yes
rain,cool,normal,strong,no
overcast,cool,normal,strong,yes
sunny,mild,high,weak,no
sunny,cool,normal,weak,yes
rain,mild,normal,weak,yes
sunny,mild,normal,strong,yes
overcast,mild,high,strong,yes
overcast,hot,normal,weak,yes
rain,mild,high,strong,no
"""
# Quinlan 1993, chapters 2 and 3: golf.
GOLF = """\
outlook,temperature,humidity,windy,play
sunny,85,85,false,no
sunny,80,90,true,no
overcast,83,78,false,yes
rain,70,96,false,yes
rain,68,80,false,yes
rain,65,70,true,no
overcast,64,65,true,yes
sunny,72,95,false,no
sunny,69,70,false,yes
rain,75,80,false,yes
sunny,75,70,true,yes
overcast,72,90,true,yes
overcast,81,75,false,yes
rain,71,80,true,no
"""
# Cendrowska 1987: contact lenses, all 24 combinations in order.
LENSES = {"n": "none", "s": "soft", "h": "hard"}
LENS_OF = "nsnhnsnhnsnhnsnnnnnhnsnn"
# Zhou, table 4.1 (watermelon 2.0) and 4.4 (2.0 alpha, with missing values); the words are
# translated: colour, root, sound, texture, navel, touch.
MELONS = """\
colour,root,sound,texture,navel,touch,good
green,curly,dull,clear,sunken,hard,yes
black,curly,low,clear,sunken,hard,yes
black,curly,dull,clear,sunken,hard,yes
green,curly,low,clear,sunken,hard,yes
white,curly,dull,clear,sunken,hard,yes
green,slight,dull,clear,dented,soft,yes
black,slight,dull,rough,dented,soft,yes
black,slight,dull,clear,dented,hard,yes
black,slight,low,rough,dented,hard,no
green,stiff,crisp,clear,flat,soft,no
white,stiff,crisp,blurred,flat,hard,no
white,curly,dull,blurred,flat,soft,no
green,slight,dull,rough,sunken,hard,no
white,slight,low,rough,sunken,hard,no
black,slight,dull,clear,dented,soft,no
white,curly,dull,blurred,flat,hard,no
green,curly,low,rough,dented,hard,no
"""
MELON_HOLES = {
    "colour": [0, 4, 12],
    "root": [8, 16],
    "sound": [2, 11],
    "texture": [7, 9],
    "navel": [5, 14],
    "touch": [1, 10],
}


def read(text: str) -> tuple[pd.DataFrame, pd.Series]:
    """Columns and target of a table; the target is the last column."""
    frame = pd.read_csv(io.StringIO(text), dtype={"windy": str})
    return frame.iloc[:, :-1], frame.iloc[:, -1]


def golf_with_a_hole() -> tuple[pd.DataFrame, pd.Series]:
    """Quinlan's example: the outlook of one day is not known."""
    X, y = read(GOLF)
    X.loc[11, "outlook"] = None
    return X, y


def melons_alpha() -> tuple[pd.DataFrame, pd.Series]:
    """Watermelons 2.0 alpha."""
    X, y = read(MELONS)
    for column, rows in MELON_HOLES.items():
        X.loc[rows, column] = None
    return X, y


def lenses() -> tuple[pd.DataFrame, pd.Series]:
    """Contact lenses."""
    ages, sights = ("young", "pre-presbyopic", "presbyopic"), ("myope", "hypermetrope")
    rows = [
        (age, sight, astigmatism, tears)
        for age in ages
        for sight in sights
        for astigmatism in ("no", "yes")
        for tears in ("reduced", "normal")
    ]
    columns = ["age", "prescription", "astigmatism", "tears"]
    return pd.DataFrame(rows, columns=columns), pd.Series(
        [LENSES[c] for c in LENS_OF], name="lenses"
    )
