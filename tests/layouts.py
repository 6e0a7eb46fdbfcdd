"""Releases of images in their official layouts; ``draw(path, class, number)`` makes each image."""

import json
from itertools import count

import numpy as np
from scipy.io import savemat


def write_lines(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines))


def save(image, path, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path, **options)


def class_folders(root, draw, names, images):
    """A folder of images per class, as DTD, EuroSAT and Food-101 have."""
    for c, name in enumerate(names):
        for i in range(images):
            draw(root / name / f"{name}_{i}.jpg", c, i)


def omniglot(root, draw, alphabets, images):
    """Of each part, so many characters of each alphabet."""
    for part, sizes in alphabets.items():
        characters = [(name, c) for name, size in sizes.items() for c in range(1, size + 1)]
        for n, (name, c) in enumerate(characters):
            for i in range(1, images + 1):
                file = f"images_{part}/{name}/character{c:02d}/{n:04d}_{i:02d}.png"
                draw(root / file, n, i)


def birds(root, draw, names, files):
    """CUB: the names of all classes, and (class from 1, file) of each image."""
    numbered = list(enumerate(files, 1))
    write_lines(root / "classes.txt", (f"{c} {name}" for c, name in enumerate(names, 1)))
    write_lines(root / "images.txt", (f"{n} {file}" for n, (_, file) in numbered))
    write_lines(root / "image_class_labels.txt", (f"{n} {c}" for n, (c, _) in numbered))
    for n, (c, file) in numbered:
        draw(root / "images" / file, c, n)


def planes(data, draw, names, images, box):
    """FGVC-Aircraft: every second image for training, and one box for all."""
    rows = [(f"{100 * c + i:07d}", name) for c, name in enumerate(names) for i in range(images)]
    for n, (image, _) in enumerate(rows):
        draw(data / "images" / f"{image}.jpg", n // images, n % images)
    for part, variants in (("trainval", rows[::2]), ("test", rows[1::2])):
        write_lines(data / f"images_variant_{part}.txt", (f"{i} {name}" for i, name in variants))
    write_lines(data / "images_box.txt", (f"{image} {box}" for image, _ in rows))


def fungi(root, draw, names, classes):
    """The names of all classes, and of each part the classes of its images."""
    categories = [{"id": i, "name": name} for i, name in enumerate(names)][::-1]
    numbers = count(7)
    for part in classes:
        images, annotations = [], []
        for n, c in zip(numbers, classes[part]):
            file = f"images/{c}/{part}_{n}.jpg"
            draw(root / file, c, n)
            images.append({"id": n, "file_name": file, "width": 24, "height": 20})
            annotations.append({"id": 50 + n, "image_id": n, "category_id": c})
        content = {"images": images, "annotations": annotations, "categories": categories}
        (root / f"{part}.json").write_text(json.dumps(content))


def flowers(root, draw, labels, tested):
    """VGG Flower: labels from 1, and which images are for testing."""
    savemat(root / "imagelabels.mat", {"labels": labels[None].astype(np.uint8)})
    numbers = np.arange(1, len(labels) + 1)
    others, test = numbers[None, ~tested], numbers[None, tested]
    savemat(root / "setid.mat", {"trnid": others[:, ::2], "valid": others[:, 1::2], "tstid": test})
    for number, label in zip(numbers, labels):
        draw(root / "jpg" / f"image_{number:05d}.jpg", int(label), number)


def signs(root, draw, classes, images, track):
    """GTSRB, with so many images per track."""
    for c in range(classes):
        folder = root / "GTSRB/Final_Training/Images" / f"{c:05d}"
        for i in range(images):
            draw(folder / f"{i // track:05d}_{i % track:05d}.ppm", c, i)
        write_lines(folder / f"GT-{c:05d}.csv", ["Filename;Width"])
