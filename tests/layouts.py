"""Lists of images as two releases have them: the birds of CUB, and FGVC-Aircraft."""


def write_lines(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines))


def list_birds(root, names, files):
    """Of CUB: the names of all classes, and (class from 1, file) of each image."""
    numbered = list(enumerate(files, 1))
    write_lines(root / "classes.txt", (f"{c} {name}" for c, name in enumerate(names, 1)))
    write_lines(root / "images.txt", (f"{n} {file}" for n, (_, file) in numbered))
    write_lines(root / "image_class_labels.txt", (f"{n} {c}" for n, (c, _) in numbered))


def list_planes(data, variants, box):
    """Of FGVC-Aircraft: (image, variant), every second one for training, and the one box."""
    for part, rows in (("trainval", variants[::2]), ("test", variants[1::2])):
        write_lines(data / f"images_variant_{part}.txt", (f"{i} {name}" for i, name in rows))
    write_lines(data / "images_box.txt", (f"{i} {box}" for i, _ in variants))
