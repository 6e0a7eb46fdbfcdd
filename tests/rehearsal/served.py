"""A server on this machine, with faults of a network, that has miniatures of data sets and small networks."""

import copy
import hashlib
import importlib
import io
import json
import tarfile
import threading
import time
import zipfile
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import yaml

from fslcore import datasets, sources
from fslcore.errors import InputError

SHIPPED = yaml.safe_load(sources.SHIPPED.read_text("utf-8"))
REVISION = "a" * 40
PARTS = {  # what an archive holds, where it is not all
    "images_background.zip": ["images_background"],
    "images_evaluation.zip": ["images_evaluation"],
    "fungi_train_val.tgz": ["images"],
    "train_val_annotations.tgz": ["train.json", "val.json"],
    "102flowers.tgz": ["jpg"],
    "train2017.zip": ["train2017"],
    "annotations_trainval2017.zip": ["annotations"],
}


class Handler(BaseHTTPRequestHandler):
    """Serves ``server.files``, in parts where a part is requested; ``server.faults`` are used up one by one.

    A fault is a status, "whole" (no part is sent), or ("cut" or "stall", bytes) after which the connection ends.
    """

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        path = unquote(urlsplit(self.path).path)
        requested = self.headers.get("Range")
        self.server.log.append((path, requested))
        faults = self.server.faults.get(path)
        fault = faults.pop(0) if faults else None
        if isinstance(fault, int) or path not in self.server.files:
            return self.send_error(fault or 404)
        body, start = self.server.files[path], 0
        tag = f'"{hashlib.sha256(body).hexdigest()[:8]}"'
        if requested and fault != "whole" and self.headers.get("If-Range") in (None, tag):
            start = int(requested.removeprefix("bytes=").removesuffix("-"))
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        self.send_header("Content-Length", str(len(body) - start))
        self.send_header("ETag", tag)
        if "/resolve/" in path:  # as the model hub says which revision it is of
            self.send_header("X-Repo-Commit", REVISION)
        self.end_headers()
        if self.command == "GET":
            self.send(body[start:], fault)

    def send(self, body, fault):
        kind, size = fault if isinstance(fault, tuple) else ("", len(body))
        self.wfile.write(body[:size])
        if kind == "stall":
            self.wfile.flush()
            self.server.stalled.set()
            time.sleep(30)
        self.close_connection = bool(kind)


def start() -> ThreadingHTTPServer:
    """A server without files that answers from now on."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads, server.block_on_close = True, False
    server.files, server.faults, server.log, server.stalled = {}, {}, [], threading.Event()
    server.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
    ).start()
    return server


def packed(root: Path, names: list[str], archive: str) -> bytes:
    """Files and folders of a folder, as an archive of this name."""
    content = io.BytesIO()
    paths = sorted(path for name in names for path in [root / name, *(root / name).rglob("*")])
    if archive.endswith(".zip"):
        with zipfile.ZipFile(content, "w") as file:
            for path in paths:
                file.write(path, path.relative_to(root))
    else:
        with tarfile.open(fileobj=content, mode="w:gz") as file:
            for path in paths:
                file.add(path, path.relative_to(root), recursive=False)
    return content.getvalue()


def counts(name: str, entry: dict, root: Path) -> dict:
    """Numbers of classes and images of a miniature, of the splits that it has."""
    numbers, (reader, mark, settings) = {}, entry.get("reader", name).partition("?")
    for split in entry.get("counts", ()):
        with suppress(InputError):
            images = datasets.load(
                f"{reader}:{root / entry.get('path', '.')}{mark}{settings}", split
            )
            numbers[split] = [len(images.class_names), len(images)]
    return numbers


def data_set(name: str, make, server, root: Path, **changes) -> dict:
    """The entry of a manifest for a miniature, which ``make`` writes to a new folder, and whose files the server has.

    Of every second archive with a folder of its own, the content alone is packed, as releases have both.
    """
    entry = copy.deepcopy(SHIPPED["data"][name]) | changes
    root.mkdir(parents=True)
    make(root)
    entry["counts"] = counts(name, entry, root)
    entry.pop("disk", None)
    base = entry.pop("base", "")
    for number, file in enumerate(entry.get("files", ())):
        archive = unquote(Path(urlsplit(base + file["url"]).path).name)
        if (root / archive).is_file():
            content = (root / archive).read_bytes()
        elif "to" in file and number % 2:
            folder = root / file["to"]
            content = packed(folder, [path.name for path in folder.iterdir()], archive)
        else:
            names = [file["to"]] if "to" in file else [path.name for path in root.iterdir()]
            content = packed(root, PARTS.get(archive, names), archive)
        server.files[f"/{name}/{archive}"] = content
        file |= {"url": f"{server.url}/{name}/{quote(archive)}", "bytes": len(content)}
        file |= {
            kind: hashlib.new(kind, content).hexdigest() for kind in {"sha256", "md5"} & file.keys()
        }
    return entry


TEXT_TOWER = {"context_length": 77, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 1}
NETWORKS = {  # options that make networks of the official keys small
    "clip": {
        "embed_dim": 24,
        "vision_cfg": {"image_size": 224, "layers": 2, "width": 64, "patch_size": 16},
        "text_cfg": TEXT_TOWER,
    },
    "clip-b32": {
        "embed_dim": 24,
        "vision_cfg": {"image_size": 224, "layers": 2, "width": 64, "patch_size": 32},
        "text_cfg": TEXT_TOWER,
    },
    "dino": {"depth": 2, "embed_dim": 48, "num_heads": 2},
    "dinov2-reg": {"depth": 2, "embed_dim": 48, "num_heads": 2},
}


def networks(server) -> dict[str, dict]:
    """The entries of a manifest for small networks, which the server then has under the addresses of the hub."""
    import torch
    from safetensors.torch import save

    from fslcore.models.networks import import_torchvision

    import_torchvision()  # as the next two do
    open_clip, timm = importlib.import_module("open_clip"), importlib.import_module("timm")
    entries = {}
    for name, options in NETWORKS.items():
        torch.manual_seed(0)
        if name.startswith("clip"):
            patch = options["vision_cfg"]["patch_size"]
            network = open_clip.create_model(f"ViT-B-{patch}-quickgelu", pretrained=None, **options)
        else:
            model = SHIPPED["weights"][name]["repository"].removeprefix("timm/")
            network = timm.create_model(model, num_classes=0, **options)
        body = save(
            {key: value.contiguous().clone() for key, value in network.state_dict().items()}
        )
        entries[name] = weights(server, name, {"config.json": b"{}"}, body) | {
            "architecture": options
        }
    return entries


def weights(server, name: str, files: dict[str, bytes], body: bytes) -> dict:
    """The entry of a manifest for weights and the files beside them, which the server then has as the hub would."""
    entry = SHIPPED["weights"][name]
    repository, files = entry["repository"], {entry["file"]: body, **files}
    siblings = [{"rfilename": file} for file in files]
    about = {"id": repository, "sha": REVISION, "siblings": siblings}
    server.files[f"/api/models/{repository}/revision/{REVISION}"] = json.dumps(about).encode()
    tree = [
        {"type": "file", "oid": "0" * 40, "size": len(body), "path": file}
        for file, body in files.items()
    ]
    server.files[f"/api/models/{repository}/tree/{REVISION}"] = json.dumps(tree).encode()
    for file, content in files.items():
        server.files[f"/{repository}/resolve/{REVISION}/{file}"] = content
    digest = {
        "bytes": len(body),
        "sha256": hashlib.sha256(body).hexdigest(),
        "by": ["this test", "and again"],
    }
    return entry | digest | {"revision": REVISION}
