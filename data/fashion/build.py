"""Build the `fashion` set: the test split of Fashion-MNIST as Debian ships it.

    python data/fashion/build.py WORK

Needs `apt-get` and `dpkg`. WORK is a folder for the package (31 MB); what is there is reused.
"""

import argparse
import gzip
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm import tqdm

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import _build  # noqa: E402

PACKAGES = {"dataset-fashion-mnist": "0.0~git20200523.55506a9-1"}
SIDE = 28
CLASSES = {  # in the order of the labels: class name, and how a caption calls it
    "T-shirt or top": "a T-shirt or top",
    "trousers": "a pair of trousers",
    "pullover": "a pullover",
    "dress": "a dress",
    "coat": "a coat",
    "sandal": "a sandal",
    "shirt": "a shirt",
    "sneaker": "a sneaker",
    "bag": "a bag",
    "ankle boot": "an ankle boot",
}


def idx(path, header):
    """The bytes of a gzipped IDX file after its `header` bytes."""
    return np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8, offset=header)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("work", type=Path, help="folder for the package")
    parser.add_argument("--out", type=Path, default=HERE, help="folder for the result")
    args = parser.parse_args()

    [root] = [_build.debian_package(name, v, args.work) for name, v in PACKAGES.items()]
    folder = root / "usr/share/datasets/fashion-mnist"
    images = idx(folder / "t10k-images-idx3-ubyte.gz", 16).reshape(-1, SIDE, SIDE)
    labels = idx(folder / "t10k-labels-idx1-ubyte.gz", 8)
    names = list(CLASSES)
    frame = pd.DataFrame.from_records(
        [
            {
                "image": _build.webp(image),
                "class_name": names[label],
                "split": "novel",
                "domain": "fashion",
                "index": index,
                "caption": f"a grey-scale photograph of {CLASSES[names[label]]}",
            }
            for index, (image, label) in enumerate(
                zip(tqdm(images, "encoding", disable=None), labels)
            )
        ]
    )
    frame = frame.sort_values(["class_name", "index"]).reset_index(drop=True)

    facts = {
        "name": "fashion",
        "title": "Fashion-MNIST, test split",
        "licence": "MIT, Copyright 2017 Zalando SE",
        "source": "Fashion-MNIST (Xiao, Rasul and Vollgraf, 2017), as packaged by Debian",
        "image": {"height": SIDE, "width": SIDE, "channels": 1},
        "sha256": _build.write_images(frame, args.out),
        "build": "python data/fashion/build.py WORK",
        "packages": PACKAGES,
    }
    _build.write_card(frame, args.out, facts, (HERE / "card.tmpl").read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
