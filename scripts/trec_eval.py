"""Write tests/losses/trec_eval.json: what trec_eval says of drawn runs, by pytrec_eval of requirements/peers.txt.

    sh scripts/peers.sh && build/peers/bin/python scripts/trec_eval.py

Runs have no two documents of one score, since trec_eval orders them by name.
"""

import json
import random
from pathlib import Path

import pytrec_eval

MEASURES = (
    "ndcg_cut_5", "ndcg_cut_10", "map", "map_cut_5", "recip_rank", "P_5", "P_10", "recall_5", "recall_100", "Rprec",
    "success_5",
)  # fmt: skip
FILE = Path(__file__).resolve().parent.parent / "tests" / "losses" / "trec_eval.json"


def main() -> None:
    """Draw grades of -2 to 3 and runs of 3 to 40 documents, some unjudged; evaluate each topic."""
    random.seed(20131007)
    qrels = {f"t{t}": {f"d{d}": random.choice([-2, 0, 0, 0, 1, 2, 3]) for d in range(25)} for t in range(8)}
    runs = {}
    for topic in qrels:
        documents = random.sample([f"d{d}" for d in range(60)], random.choice([3, 8, 20, 40]))
        documents.sort(key=lambda document: qrels[topic].get(document, 0) + random.gauss(0, 2))
        runs[topic] = {document: place / 8 for place, document in enumerate(documents)}
    found = pytrec_eval.RelevanceEvaluator(qrels, set(MEASURES)).evaluate(runs)
    said = {topic: {measure: found[topic][measure] for measure in MEASURES} for topic in qrels}
    whole = {"qrels": qrels, "runs": runs, "values": said}
    FILE.write_text(json.dumps(whole, separators=(",", ":")) + "\n", encoding="utf-8")


main()
