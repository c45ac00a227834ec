"""Looks at the gallery's pages in Chromium: gallery_browser_test.py [FOLDER for screenshots]

At the widths of a phone and of a desk, light and dark: no error in the console, no missing picture, no text of a
picture over another one or outside, no horizontal scroll bar of the page.
"""

import os
import shutil
import sys
import tempfile
import unittest

from browser import Browser, program

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GALLERY = os.path.join(ROOT, "docs", "gallery")
WIDTHS, SCHEMES = (360, 1200), ("light", "dark")
SCREENSHOTS = None

# What a reader would see: a list of words.
LOOK = """(() => {
  const found = [];
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) found.push(`scroll bar: ${root.scrollWidth} of ${root.clientWidth}`);
  if (!document.styleSheets.length) found.push('no style');
  for (const image of document.images) if (!image.naturalWidth) found.push('missing picture');
  for (const svg of document.querySelectorAll('svg')) {
    const whole = svg.getBoundingClientRect();
    if (whole.width < 250 || whole.height < 100) found.push('small picture');
    const texts = [...svg.querySelectorAll('text')].map(text => [text.textContent, text.getBoundingClientRect()]);
    texts.forEach(([text, box], i) => {
      if (box.left < whole.left - 1 || box.right > whole.right + 1 ||
          box.top < whole.top - 1 || box.bottom > whole.bottom + 1)
        found.push(`outside its picture: ${text}`);
      for (const [other, its] of texts.slice(0, i))
        if (box.left < its.right && its.left < box.right && box.top + 4 < its.bottom && its.top + 4 < box.bottom)
          found.push(`over another text: ${text}, ${other}`);
    });
  }
  return found;
})()"""


def look(browser, path, width, scheme):
    """What is wrong with a page."""
    browser.open(path, width, scheme)
    return browser.value(LOOK) + browser.complaints()


class PagesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    def test_pages(self):
        pages = sorted(name for name in os.listdir(GALLERY) if name.endswith(".html"))
        self.assertTrue(pages)
        for name in pages:
            grounds = set()
            for width in WIDTHS:
                for scheme in SCHEMES:
                    with self.subTest(f"{name}, {width} px, {scheme}"):
                        self.assertEqual(look(self.browser, os.path.join(GALLERY, name), width, scheme), [])
                        grounds.add((scheme, self.browser.value("getComputedStyle(document.body).backgroundColor")))
                        if SCREENSHOTS:
                            self.browser.screenshot(os.path.join(SCREENSHOTS, f"{name[:-5]}_{width}_{scheme}.png"))
            self.assertEqual((len(grounds), len({ground for _, ground in grounds})), (2, 2), name)

    def test_finds_planted_faults(self):
        cases = [("</body>", "<script>console.error('x')</script></body>", "error in the console"),
                 ("</body>", "<script>none()</script></body>", "error in the console"),
                 ("</body>", '<img alt="x" src="x.png"></body>', "missing picture"),
                 ("</body>", '<p style="width: 1300px">x</p></body>', "scroll bar"),
                 ('href="gallery.css"', 'href="gallry.css"', "not loaded"),
                 ("</svg>", '<text x="300" y="20">outside</text></svg>', "outside its picture: outside"),
                 ("</svg>", '<text x="2" y="14">over</text></svg>', "over another text: over"),
                 ('viewBox="0', 'style="width: 20px" viewBox="0', "small picture")]
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(os.path.join(GALLERY, "gallery.css"), folder)
            path = os.path.join(folder, "page.html")
            with open(os.path.join(GALLERY, "unet1.html"), encoding="utf-8") as file:
                text = file.read()
            for old, new, wanted in cases:
                self.assertIn(old, text)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text.replace(old, new, 1))
                with self.subTest(wanted):
                    found = look(self.browser, path, 1200, "light")
                    self.assertTrue(any(each.startswith(wanted) for each in found), found)


if __name__ == "__main__":
    if not program():
        sys.exit("gallery_browser_test.py: no Chromium here")
    if len(sys.argv) > 1:
        SCREENSHOTS = sys.argv.pop()
        os.makedirs(SCREENSHOTS, exist_ok=True)
    unittest.main()
