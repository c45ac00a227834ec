"""What is wrong with a folder of pages, by their text alone: problems_of(FOLDER, ROOT)."""

import html.parser
import os
import re

MOST_BYTES, MOST_BYTES_OF_ALL = 16_000, 150_000
# Elements that HTML never closes, and those of SVG that are written closed.
OPEN = {"meta", "link", "img", "br"}


class Reader(html.parser.HTMLParser):
    """A page's links, and what is wrong in the page itself."""

    def __init__(self, text):
        super().__init__()
        self.problems, self.links, self.open = [], [], []
        self.seen = {"h1": 0, "title": 0}
        self.meta = set()
        self.feed(text)
        self.close()
        if self.open:
            self.problems.append(f"<{self.open[-1]}> is not closed")
        if self.seen["h1"] != 1:
            self.problems.append(f"{self.seen['h1']} headings <h1>")
        for name in {"viewport", "color-scheme"} - self.meta:
            self.problems.append(f"no <meta name={name}>")

    def handle_starttag(self, tag, attributes):
        self.handle_startendtag(tag, attributes)
        if tag not in OPEN:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        found = dict(attributes)
        self.links += [found[name] for name in ("href", "src") if name in found]
        if tag in self.seen and "svg" not in self.open:
            self.seen[tag] += 1
        if tag == "html" and not found.get("lang"):
            self.problems.append("<html> without lang")
        if tag == "meta":
            self.meta.add(found.get("name"))
        if tag == "img" and not found.get("alt"):
            self.problems.append("<img> without alt")
        if tag == "svg" and not (found.get("role") == "img" and found.get("aria-label") and found.get("viewbox")):
            self.problems.append("<svg> without role=img, aria-label or viewBox")
        if tag == "script":
            self.problems.append("<script>")

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> closes nothing")


def colours_of(style):
    """The palettes of a style sheet: {name: (red, green, blue)}, light and dark."""
    light, _, dark = style.partition("@media (prefers-color-scheme: dark)")
    dark = dark.partition("}")[0]
    return [{name: tuple(int(digits[i:i + 2], 16) for i in (0, 2, 4))
             for name, digits in re.findall(r"--([\w-]+): #(\w{6});", part)} for part in (light, dark)]


def contrast(a, b):
    """As WCAG 2 defines it: 1 to 21."""
    def luminance(colour):
        parts = [c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def problems_of_style(style):
    light, dark = colours_of(style)
    problems = [f"colour --{name} is not in both schemes" for name in sorted(set(light) ^ set(dark))]
    used = set(re.findall(r"var\(--([\w-]+)\)", style))
    problems += [f"colour --{name} is nowhere" for name in sorted(used - set(light))]
    least = {("text", "ground"): 7, ("text", "block"): 7, ("text", "tap"): 7, ("dim", "ground"): 4.5,
             ("link", "ground"): 4.5, ("ours", "ground"): 3, ("cudnn", "ground"): 3}
    for scheme, palette in (("light", light), ("dark", dark)):
        for (front, back), ratio in least.items():
            if front in palette and back in palette and (found := contrast(palette[front], palette[back])) < ratio:
                problems.append(f"{scheme}: contrast of --{front} on --{back} is {found:.1f}, less than {ratio}")
    return problems


def problems_of(folder, root):
    """Of all files in the folder: ["file: what is wrong"]. Links stay within `root`."""
    problems, size, links, root = [], 0, {}, os.path.realpath(root)
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            text = file.read()
        size += len(text.encode())
        if len(text.encode()) > MOST_BYTES:
            problems.append(f"{name}: {len(text.encode())} bytes, more than {MOST_BYTES}")
        if not name.endswith(".html"):
            problems += [f"{name}: {each}" for each in problems_of_style(text)]
            continue
        page = Reader(text)
        problems += [f"{name}: {each}" for each in page.problems]
        links[name] = set(page.links)
        for link in page.links:
            target = os.path.realpath(os.path.join(folder, link))
            if re.match(r"\w+:|/", link):
                problems.append(f"{name}: link to outside, {link}")
            elif not os.path.isfile(target) or os.path.commonpath([target, root]) != root:
                problems.append(f"{name}: link to nothing, {link}")
    if size > MOST_BYTES_OF_ALL:
        problems.append(f"all: {size} bytes, more than {MOST_BYTES_OF_ALL}")
    for name in sorted(set(links) - {"index.html"} - links.get("index.html", set())):
        problems.append(f"{name}: index.html has no link to it")
    return problems
