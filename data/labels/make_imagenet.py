"""Writes imagenet.tsv from the class lists that timm carries (timm/data/_info): a line for each class with its WordNet id, its
name, and its index in each of the sets that people train on, which are told apart by their size.

    pip install timm==1.0.31 && python3 make_imagenet.py
"""
import importlib.util
import pathlib

LISTS = {1000: "imagenet_synsets", 11221: "imagenet21k_miil_synsets", 11821: "imagenet12k_synsets", 21841: "imagenet22k_synsets",
         21843: "imagenet21k_goog_synsets"}

info = pathlib.Path(importlib.util.find_spec("timm").submodule_search_locations[0]) / "data" / "_info"
names = dict(line.split("\t", 1) for line in (info / "imagenet_synset_to_lemma.txt").read_text().splitlines())
lists = {size: (info / f"{name}.txt").read_text().split() for size, name in LISTS.items()}
for size, synsets in lists.items():
    assert len(synsets) == size and len(set(synsets)) == size, size
index = {size: {synset: i for i, synset in enumerate(synsets)} for size, synsets in lists.items()}
everything = sorted(set().union(*lists.values()))
with open(pathlib.Path(__file__).parent / "imagenet.tsv", "w") as out:
    print("\t".join(["synset", "name", *map(str, LISTS)]), file=out)
    for synset in everything:
        assert "\t" not in names[synset]
        print("\t".join([synset, names[synset].strip(), *(str(index[size].get(synset, "")) for size in LISTS)]), file=out)
