"""Files of votes as the tools of this world write them: content, and the votes that are in it."""

from __future__ import annotations

import io
import json
import zipfile

Vote = tuple[str, str, bool, float]
"""Winner, loser, whether it is a tie, weight."""

WON, TIED = False, True


def votes(*said: str) -> list[Vote]:
    """Return votes: ``x>y`` won, ``x=y`` tied, and ``x>y*2`` has the weight 2."""
    found = []
    for text in said:
        pair, _, weight = text.partition("*")
        winner, sign, loser = pair.partition("=" if "=" in pair else ">")
        found.append((winner, loser, sign == "=", float(weight or 1)))
    return found


_ARENA = [
    {
        "question_id": "fb74f1f1",
        "model_a": "gpt-4",
        "model_b": "claude, 2",
        "winner": "model_a",
        "judge": "arena_user_1",
        "conversation_a": [{"role": "user", "content": 'say "hi", [1]'}, {"role": "assistant", "content": "hi }]"}],
        "conversation_b": [],
        "turn": 1,
        "anony": True,
        "language": "English",
        "tstamp": 1682351591.1322,
        "conv_metadata": {"sum_user_tokens": 4, "bold_count_a": {"**": 0}},
        "is_code": False,
        "dedup_tag": {"high_freq": False, "sampled": True},
    },
    {"question_id": "0c5a", "model_a": "gpt-4", "model_b": "llama", "winner": "model_b", "judge": "arena_user_2"},
    {"question_id": "0c5b", "model_a": "llama", "model_b": "claude, 2", "winner": "tie (bothbad)", "judge": 7},
    {"question_id": None, "model_a": "llama", "model_b": "gpt-4", "winner": "tie", "judge": None},
]
ARENA: list[Vote] = votes("gpt-4>claude, 2", "llama>gpt-4", "llama=claude, 2", "llama=gpt-4")
for _row in _ARENA:
    _row["question_id"] = _row["question_id"] or "none"


MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
SHEETS = "application/vnd.openxmlformats-officedocument.spreadsheetml"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def sheet(rows: list[list[str | float]]) -> str:
    """Return a sheet with these cells, as its standard has it."""
    cells = []
    for number, row in enumerate(rows, 1):
        places = [f"{'ABCDEFG'[at]}{number}" for at in range(len(row))]
        line = "".join(
            f'<c r="{place}" t="inlineStr"><is><t>{value}</t></is></c>'
            if isinstance(value, str)
            else f'<c r="{place}"><v>{value}</v></c>'
            for place, value in zip(places, row, strict=True)
        )
        cells.append(f'<row r="{number}">{line}</row>')
    return f'<worksheet xmlns="{MAIN}"><sheetData>{"".join(cells)}</sheetData></worksheet>'


def xlsx(sheets: dict[str, str]) -> bytes:
    """Return a workbook of sheets by name."""
    kinds, book, links = [], [], []
    for at, name in enumerate(sheets, 1):
        kinds.append(f'<Override PartName="/xl/worksheets/sheet{at}.xml" ContentType="{SHEETS}.worksheet+xml"/>')
        book.append(f'<sheet name="{name}" sheetId="{at}" r:id="rId{at}"/>')
        links.append(f'<Relationship Id="rId{at}" Type="{OFFICE}/worksheet" Target="worksheets/sheet{at}.xml"/>')
    files = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" '
        f'ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="{SHEETS}.sheet.main+xml"/>'
        f"{''.join(kinds)}</Types>",
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="rId1" '
        f'Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>{"".join(book)}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
        f"{''.join(links)}</Relationships>",
        **{f"xl/worksheets/sheet{at}.xml": text for at, text in enumerate(sheets.values(), 1)},
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>{text}')
    return file.getvalue()


def file(content: bytes, *said: str, name: str = "votes.csv") -> tuple[str, bytes, list[Vote]]:
    """Return a file's name, its bytes, and the votes that are in it."""
    return name, content, votes(*said)


GUESSED: dict[str, tuple[str, bytes, list[Vote]]] = {
    "pairs of preference data": file(b"prompt,chosen,rejected\nhow?,a,b\nwhy?,b,c\n", "a>b", "b>c"),
    "sides by their colors": file(
        b"match_id,blue_team,red_team,winner\n1,g,f,blue\n2,f,g,red\n3,g,t,Red\n", *("g>f", "g>f", "t>g")
    ),
    "winners of tennis": file(
        b"surface,winner_id,winner_name,loser_id,loser_name,score\nHard,1,s,2,a,6-4 6-3\nClay,2,a,1,s,7-5 6-4\n",
        *("s>a", "a>s"),
    ),
    "pairs of preference data with models": file(
        b'{"prompt": "how?", "chosen": [{"role": "user"}], "rejected": [], "chosen_model": "a", '
        b'"rejected_model": "b"}\n',
        "a>b",
        name="train.jsonl",
    ),
    "one column for each outcome": file(
        b"id,model_a,model_b,prompt,response_a,response_b,winner_model_a,winner_model_b,winner_tie\n"
        b'1,x,y,"[""hi""]","[""a""]","[""b""]",1,0,0\n2,x,z,p,r,s,0,1,0\n3,y,z,p,r,s,0,0,1\n',
        *("x>y", "z>x", "y=z"),
    ),
    "players and points": file(
        b"player1,player2,result\nann,bob,1\nbob,cid,0\ncid,ann,0.5\n", "ann>bob", "cid>bob", "cid=ann"
    ),
    "players and their names": file(
        b"player1,player2,result\nann,bob,player1\nbob,cid,player2\ncid,ann,draw\n", "ann>bob", "cid>bob", "cid=ann"
    ),
    "chess": file(b"White,Black,Result\nann,bob,1-0\nbob,cid,0-1\ncid,ann,1/2-1/2\n", "ann>bob", "cid>bob", "cid=ann"),
    "labels": file(b"left,right,label\na,b,1\nb,c,0\na,c,.5\n", "a>b", "c>b", "a=c"),
    "signs": file(b"left,right,preference\na,b,1\nb,c,-1\na,c,0\n", "a>b", "c>b", "a=c"),
    "grades": file(
        b"left,right,preference\na,b,0.75\nb,c,0\nc,a,0.5\nc,b,0.125\n",
        *("a>b*0.75", "b>a*0.25", "c>b", "c=a", "c>b*0.125", "b>c*0.875"),
    ),
    "scores": file(
        b"date,home_team,away_team,home_score,away_score,neutral\n2020-01-01,X,Y,2,1,TRUE\n2020-01-02,Y,Z,0,0,FALSE\n"
        b"2020-01-03,Z,X,0,10,FALSE\n2030-01-01,X,Y,NA,NA,FALSE\n",
        *("X>Y", "Y=Z", "X>Z"),
    ),
    "series": file(
        b"home.team,away.team,home.wins,away.wins\nx,y,2,1\ny,z,0,1\nz,x,,\nx,z,0,0\n", "x>y", "x>y", "y>x", "z>y"
    ),
    "series with ties": file(
        b"model_a,model_b,wins_a,wins_b,ties\nx,y,1,0,2\ny,z,0,2,0\n", "x>y", "x=y", "x=y", "z>y", "z>y"
    ),
    "truth values called wins": file(
        b"player1,player2,a_wins,b_wins\nx,y,true,false\ny,z,false,true\nx,z,false,false\n", "x>y", "z>y", "x=z"
    ),
    "letters of football": file(
        b"Div,Date,HomeTeam,AwayTeam,FTHG,FTAG,FTR\nE0,2020-01-02,X,Y,1,0,H\nE0,2020-01-03,Y,X,1,2,A\n"
        b"E0,2020-01-04,Y,Z,1,1,D\n",
        *("X>Y", "X>Y", "Y=Z"),
    ),
    "semicolons and decimal commas": file(b"winner;loser;weight\r\na;b;1,5\r\nb;c;2\r\n", "a>b*1.5", "b>c*2"),
    "Excel's CSV": file(
        b'\xef\xbb\xbfsep=;\r\nwinner;loser;weight\r\n"a; the first";b;1,25\r\nb;c;2\r\n',
        *("a; the first>b*1.25", "b>c*2"),
    ),
    "tabs": file(b"winner\tloser\na, b\tc\n", "a, b>c", name="votes.txt"),
    "no header": file(
        b"gpt,claude,left\nclaude,llama,right\ngpt,llama,tie\nllama,gpt,left\n",
        *("gpt>claude", "llama>claude", "gpt=llama", "llama>gpt"),
    ),
    "names that nobody knows": file(
        b"m1,m2,verdict\ngpt,claude,gpt\nclaude,llama,llama\ngpt,llama,tie\n", "gpt>claude", "llama>claude", "gpt=llama"
    ),
    "words for won and lost": file(
        b"date,team,opponent,result\n2020-01-01,x,y,W\n2020-01-02,y,z,L\n2020-01-03,z,x,Draw\n", "x>y", "z>y", "z=x"
    ),
    "a form's question": file(
        b'Timestamp,"Which is better, A or B?",A,B\n2020-01-01,A,x,y\n2020-01-02,B,x,z\n', "x>y", "z>x"
    ),
    "an arena's JSON": ("clean_battle.json", json.dumps(_ARENA).encode(), ARENA),
    "an arena's JSON, indented": ("clean_battle.json", json.dumps(_ARENA, indent=2).encode(), ARENA),
    "JSON by column, as pandas writes it": file(
        b'{"winner":{"0":"a","1":"b"},"loser":{"0":"b","1":"c"}}', "a>b", "b>c", name="votes.json"
    ),
    "JSON split, as pandas writes it": file(
        b'{"columns":["winner","loser"],"index":[0,1],"data":[["a","b"],["b","c"]]}', "a>b", "b>c", name="votes.json"
    ),
    "JSON with rows inside": file(
        b'{"version": 2, "votes": [{"winner": "a", "loser": "b"}]}', "a>b", name="votes.json"
    ),
    "an object a line": file(
        b'{"winner": "a", "loser": "b"}\n{"winner": "b", "loser": "c"}\n', "a>b", "b>c", name="votes.json"
    ),
    "a workbook": file(
        xlsx({"Votes": sheet([["Winner", "Loser", "weight"], ["a", "b", 1.5], ["b", 3, 2]])}),
        *("a>b*1.5", "b>3*2"),
        name="votes.xlsx",
    ),
}
"""By who writes it: the file's name, its bytes, its votes."""

FOR_AND_AGAINST = {
    "left=team,right=opponent,left_score=pf,right_score=pa": ("b", "a"),
    "winner=team,loser=opponent": ("a", "b"),
    "winner=opponent,loser=team": ("b", "a"),
}
"""Readings of teams, opponents, and points for and against them."""

PROPOSED: dict[str, tuple[str, bytes, dict[str, tuple[str, str]]]] = {
    "colors of corners": (
        "R_fighter,B_fighter,Winner,title",
        b"a,b,Blue,no\nc,a,Red,yes\nb,c,Draw,no\nc,b,Red,no\n",
        {
            "left=R_fighter,right=B_fighter,winner=Winner,left_word=Red,right_word=Blue": ("b", "a"),
            "left=R_fighter,right=B_fighter,winner=Winner,left_word=Blue,right_word=Red": ("a", "b"),
        },
    ),
    "preferences from 1 to 2": (
        "image1,image2,better",
        b"a,b,1\nb,c,2\na,c,0\n",
        {
            "left=image1,right=image2,preference=better": ("a", "b"),
            "left=image2,right=image1,preference=better": ("b", "a"),
            "winner=image1,loser=image2": ("a", "b"),
            "winner=image2,loser=image1": ("b", "a"),
        },
    ),
    "colors beside items that are known": (
        "player1,player2,winner",
        b"a,b,Blue\nc,a,Red\nb,c,Draw\n",
        {
            "left=player1,right=player2,winner=winner,left_word=Red,right_word=Blue": ("b", "a"),
            "left=player1,right=player2,winner=winner,left_word=Blue,right_word=Red": ("a", "b"),
        },
    ),
    "two columns of numbers beside two of items": (
        "team,opponent,pf,pa",
        b"a,b,20,27\nc,a,14,21\nb,c,24,10\n",
        FOR_AND_AGAINST,
    ),
    "two columns of numbers beside items that are known": (
        "player1,player2,pf,pa",
        b"a,b,20,27\nc,a,14,21\nb,c,24,10\n",
        {"left=player1,right=player2,left_score=pf,right_score=pa": ("b", "a")},
    ),
    "truth values": (
        "this,that,better",
        b"a,b,true\nb,a,false\nc,a,true\n",
        {
            "left=this,right=that,points=better": ("a", "b"),
            "left=that,right=this,points=better": ("b", "a"),
            "winner=this,loser=that": ("a", "b"),
            "winner=that,loser=this": ("b", "a"),
        },
    ),
    "winners from 0 or 1": (
        "left,right,winner",
        b"a,b,1\nb,c,0\n",
        {"left=left,right=right,points=winner": ("a", "b"), "left=right,right=left,points=winner": ("b", "a")},
    ),
    "five grades": (
        "left,right,preference",
        b"a,b,3\nb,c,-1\na,c,0\n",
        {"left=left,right=right,margin=preference": ("a", "b"), "left=right,right=left,margin=preference": ("b", "a")},
    ),
    "no words for winning": (
        "better,worse",
        b"a,b\nb,c\n",
        {"winner=better,loser=worse": ("a", "b"), "winner=worse,loser=better": ("b", "a")},
    ),
    "no header": ("a,b", b"b,c\na,c\n", {"winner=1,loser=2": ("a", "b"), "winner=2,loser=1": ("b", "a")}),
    "two columns that say who won": (
        "model_a,model_b,first judge,second judge",
        b"x,y,A,B\ny,x,B,A\n",
        {
            "left=model_a,right=model_b,winner=first judge": ("x", "y"),
            "left=model_a,right=model_b,winner=second judge": ("y", "x"),
        },
    ),
    "rates that are not of both": (
        "model_a,model_b,a_win_rate",
        b"x,y,.7\ny,z,.6\n",
        {
            "left=model_a,right=model_b,points=a_win_rate": ("x", "y"),
            "left=model_b,right=model_a,points=a_win_rate": ("y", "x"),
        },
    ),
    "places, of which the lowest is best": (
        "system1,system2,rank1 of judge,rank2 of judge",
        b"x,y,1,3\ny,z,2,2\nz,x,4,1\n",
        {"left=system1,right=system2,left_score=rank2 of judge,right_score=rank1 of judge": ("x", "y")},
    ),
    "a venue": (
        "team,opponent,venue,pf,pa",
        b"a,b,Home,20,27\nb,a,Away,27,20\nb,c,Home,24,10\nc,b,Away,10,24\n",
        FOR_AND_AGAINST,
    ),
    "a venue by letters": (
        "team,opponent,where,pf,pa",
        b"a,b,H,20,27\nb,a,A,27,20\nb,c,N,24,10\nc,b,N,10,24\n",
        FOR_AND_AGAINST,
    ),
    "scores of both between 0 and 1": (
        "model_a,model_b,quality,other quality",
        b"x,y,.7,.9\ny,z,.6,.2\n",
        {"left=model_a,right=model_b,left_score=quality,right_score=other quality": ("y", "x")},
    ),
}
"""Files that may be read in several ways: header, rows, and who wins the first vote by what the error says to write."""
