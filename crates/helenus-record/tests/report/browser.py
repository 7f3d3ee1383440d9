"""Opens reports from files in headless Chromium, with every network refused, and checks what a reader would see.

usage: browser.py check PAGE... [--shots FOLDER]     all checks; ends with 77 where browser or Playwright are missing
       browser.py open PAGE                          opens the page once and prints its times in ms, as JSON
"""

import base64
import json
import pathlib
import shutil
import signal
import sys

LACKING = 77
PATIENCE_S = 1200
TIMES = """() => {
  const entry = performance.getEntriesByType("navigation")[0];
  return { load_ms: entry.loadEventEnd, drawn_ms: window.firstDrawn || null };
}"""
# Runs before the page's own script: notes when the charts are there, with the script's part, and painted.
WATCH = """addEventListener("DOMContentLoaded", () => {
  if (document.querySelector("figure.chart svg.area")) {
    requestAnimationFrame(() => setTimeout(() => { window.firstDrawn = performance.now(); }, 0));
  }
});"""


def launch(playwright):
    """The browser that Playwright brought, or the one that the system has."""
    args = ["--no-sandbox", "--disable-background-networking"]
    try:
        return playwright.chromium.launch(args=args)
    except Exception as error:
        system = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        if system is None:
            print(f"no Chromium: {str(error).splitlines()[0]}")
            sys.exit(LACKING)
        return playwright.chromium.launch(args=args, executable_path=system)


def opened(context, page_file, said):
    """A page with everything noted that it says or asks for; only its own file is let through."""
    own = page_file.resolve().as_uri()

    def route(route):
        url = route.request.url
        if url.split("#")[0] == own:
            route.continue_()
        else:
            said.append(f"request: {url}")
            route.abort()

    context.route("**/*", route)
    page = context.new_page()
    page.on("console", lambda m: said.append(f"console {m.type}: {m.text}") if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda e: said.append(f"error: {e}"))
    page.on("request", lambda r: said.append(f"request: {r.url}")
            if not r.url.startswith((own, "data:", "blob:")) else None)
    page.add_init_script(WATCH)
    page.goto(own, wait_until="load")
    # The page's script begins when it has been painted.
    page.wait_for_timeout(150)
    return page


def unfolded(page):
    """Opens every part that is there on demand."""
    page.evaluate("() => document.querySelectorAll('details.part').forEach(part => { part.open = true; })")
    page.wait_for_timeout(150)


def folds(page, wrong):
    """What limits the answer is open, the rest on demand: a link opens its part, a button all of them."""
    parts = page.locator("details.part")
    opened = "all => all.filter(part => part.open).length"
    if not parts.count():
        return
    for link in page.locator("nav a").all():
        own = page.locator(f"details:has({link.get_attribute('href')})")
        # Not with the mouse: the page still moves from the link before.
        link.evaluate("link => link.click()")
        if own.count() and not own.evaluate("part => part.open"):
            wrong.append(f"the link {link.inner_text()!r} does not open its part")
    if parts.evaluate_all(opened) != parts.count():
        wrong.append(f"{parts.evaluate_all(opened)} of {parts.count()} parts are open behind their links")
    page.reload()
    page.wait_for_timeout(150)
    if parts.evaluate_all(opened) != parts.count():
        wrong.append(f"{parts.evaluate_all(opened)} of {parts.count()} parts are open when the page is read again")
    unfold = page.locator("#unfold")
    for expected in (0, parts.count()):
        unfold.evaluate("button => button.click()")
        if parts.evaluate_all(opened) != expected:
            wrong.append(f"the button leaves {parts.evaluate_all(opened)} of {parts.count()} parts open")


def scrolled(page):
    """Scrolls through the whole page, as a reader does, and back: what only then appears or complains is noted."""
    page.evaluate("""async () => {
      const frame = () => new Promise(done => requestAnimationFrame(done));
      for (let y = 0; y <= document.documentElement.scrollHeight; y += 350) {
        window.scrollTo({ top: y, behavior: 'instant' });
        await frame();
        await frame();
      }
    }""")
    page.evaluate("window.scrollTo({ top: 0, behavior: 'instant' })")
    page.wait_for_timeout(150)


# Of each chart: whether it has lines, marks or cells of some size, each with a colour of its own.
EMPTY = """() => [...document.querySelectorAll('figure.chart')].filter(figure => figure.checkVisibility()).filter(figure => {
  const svg = figure.querySelector('svg.area'), drawn = [...figure.querySelectorAll('.line[data-name], g.mark, .cell, .heat')];
  const seen = drawn.filter(one => { const box = one.getBoundingClientRect(); return box.width + box.height > 2; });
  const coloured = seen.every(one => one.matches('.cell, .heat') ||
    getComputedStyle(one.closest('.series')).getPropertyValue('--c').trim().startsWith('#'));
  return !seen.length || !coloured || svg.getBoundingClientRect().width < 150;
}).map(figure => figure.id)"""
# Words of axes and charts that lie over each other, or stick out of their figure.
CLASHES = """() => [...document.querySelectorAll('figure.chart')].flatMap(figure => {
  const frame = figure.getBoundingClientRect(), wrong = [];
  const words = [...figure.querySelectorAll('g.x text, g.y text, .of, .moment')].filter(word => word.getClientRects().length);
  const boxes = words.map(word => [word.textContent, word.getBoundingClientRect()]);
  boxes.forEach(([text, a], i) => {
    if (a.left < frame.left - 1 || a.right > frame.right + 1) { wrong.push(`${figure.id}: "${text}" sticks out`); }
    boxes.slice(i + 1).forEach(([other, b]) => {
      if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3) {
        wrong.push(`${figure.id}: "${text}" lies over "${other}"`);
      }
    });
  });
  return wrong;
})"""


def look(page, wrong, where):
    """Every chart has lines or marks, no words lie over others, and nothing sticks out of the page."""
    empty = page.evaluate(EMPTY)
    if empty:
        wrong.append(f"{where}: charts without a drawing: {empty}")
    wrong.extend(f"{where}: {clash}" for clash in page.evaluate(CLASHES))
    too_wide = page.evaluate("""() => ({ page: document.documentElement.scrollWidth, window: window.innerWidth,
      culprits: [...document.querySelectorAll('body *')].filter(e => !e.closest('.scroll, pre, nav, svg')
        && e.getBoundingClientRect().right > window.innerWidth + 1).slice(0, 5).map(e => e.tagName + '.' + e.className) })""")
    if too_wide["page"] > too_wide["window"]:
        wrong.append(f"{where}: wider than the window: {too_wide}")
    if too_wide["window"] >= 1400:
        cut = page.evaluate("""() => [...document.querySelectorAll('.scroll')].filter(box => box.scrollWidth > box.clientWidth + 1)
          .map(box => box.closest('section').id)""")
        if cut:
            wrong.append(f"{where}: tables that are cut off: {cut}")
    silent = page.evaluate("() => [...document.querySelectorAll('svg.area')].filter(svg => !svg.ariaLabel.includes(': ')).length")
    if silent:
        wrong.append(f"{where}: {silent} charts say nothing to those who do not see them")


def ranges(page, selector):
    """What each chart shows of the run's time: of its lines, its bands and its ticks."""
    return page.evaluate(f"""() => [...document.querySelectorAll({selector!r})].map(f => {{
      const box = name => f.querySelector(name).getAttribute('viewBox').split(' ').map(Number);
      const [lines, bands] = [box('svg.lines'), box('svg.behind')];
      return {{ from: lines[0], to: lines[0] + lines[2], bands: [bands[0], bands[0] + bands[2]],
        ticks: [...f.querySelectorAll('g.x text')].map(t => t.textContent) }};
    }})""")


def drag(page, figure, parts=(0.3, 0.6)):
    """Drags across the chart's middle, from one part of its width to another."""
    plot = page.locator(f"#{figure} svg.area").first
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * parts[0], y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * parts[1], y, steps=8)
    page.mouse.up()
    page.wait_for_timeout(200)


def zoom(page, wrong):
    """A drag zooms the chart, and with it every chart over time; a double click takes all of them back."""
    if not page.locator("figure.time").count():
        return
    first, over_time = "chart-latency", "figure.chart.time"
    before, others = ranges(page, f"#{first}"), ranges(page, over_time)
    drag(page, first)
    after = ranges(page, f"#{first}")[0]
    if not before[0]["from"] < after["from"] < after["to"] < before[0]["to"] or after["ticks"] == before[0]["ticks"]:
        wrong.append(f"the drag did not zoom: {before} {after}")
    # A third of the width is a third of the time, to a pixel or two.
    if abs(after["from"] - 3000) > 60 or abs(after["to"] - 6000) > 60:
        wrong.append(f"the drag zoomed to another stretch: {after}")
    zoomed = ranges(page, over_time)
    if any([one["from"], one["to"]] != [after["from"], after["to"]] or one["bands"] != [one["from"], one["to"]]
           for one in zoomed):
        wrong.append(f"not every chart over time zoomed along: {zoomed}")
    if len({one["ticks"][0] for one in zoomed}) > 2:
        wrong.append(f"charts over time have other ticks: {zoomed}")
    page.locator(f"#{first} svg.area").first.dblclick()
    page.wait_for_timeout(200)
    if ranges(page, over_time) != others:
        wrong.append(f"a double click did not go back: {others} {ranges(page, over_time)}")


def differing(blank, one, other):
    """How many pixels of two pictures differ; a painter is not exact to the last one."""
    pictures = [base64.b64encode(picture).decode() for picture in (one, other)]
    return blank.evaluate("""async pictures => {
      const [one, other] = await Promise.all(pictures.map(async picture => {
        const image = new Image();
        image.src = "data:image/png;base64," + picture;
        await image.decode();
        const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
        canvas.drawImage(image, 0, 0);
        return new Uint32Array(canvas.getImageData(0, 0, image.width, image.height).data.buffer);
      }));
      return one.length === other.length ? one.filter((pixel, i) => pixel !== other[i]).length : one.length;
    }""", pictures)


def switches(page, wrong):
    """Each switch takes its bands away from a chart and brings them back; each name of a legend does so with its line."""
    if page.locator("[data-band]").count():
        figure = page.locator("#chart-latency .plot")
        figure.scroll_into_view_if_needed()
        blank = page.context.browser.new_page()
        for box in page.locator("[data-band]").all():
            pictures = [figure.screenshot()]
            for _ in range(2):
                box.evaluate("box => box.click()")
                pictures.append(figure.screenshot())
            gone, left = differing(blank, *pictures[:2]), differing(blank, pictures[0], pictures[2])
            # The shortest event is a pixel wide, and as high as its lane.
            if gone < 4 or left > max(20, gone // 10):
                wrong.append(f"the switch {box.get_attribute('data-band')}: {gone} pixels change, {left} do not come back")
        blank.close()
    for button in page.locator("button[data-shows]").all():
        own = page.locator(f"#{button.evaluate('b => b.closest(`figure`).id')} "
                           f"[data-series=\"{button.get_attribute('data-shows')}\"]")
        boxes = "all => all.map(one => one.getClientRects().length > 0 && getComputedStyle(one).display !== 'none')"
        shown = own.evaluate_all(boxes)
        button.click()
        hidden = own.evaluate_all(boxes)
        button.click()
        if not shown or not all(shown) or any(hidden) or own.evaluate_all(boxes) != shown:
            wrong.append(f"the legend's {button.inner_text()!r} changes nothing: {shown} {hidden}")


def stacks(page, wrong):
    """What is left of a stack stands on the axis, and comes back to its place."""
    for figure in page.locator("figure.chart:has(.line.stacked)").all():
        paths = "all => all.map(one => one.getBoundingClientRect().height)"
        areas = figure.locator(".line.stacked[data-name]")
        before = areas.evaluate_all(paths)
        lowest = figure.locator("button[data-shows]").first
        lowest.click()
        without = areas.evaluate_all(paths)
        lowest.click()
        after = areas.evaluate_all(paths)
        # The highest is first.
        if not without[0] < before[0] or any(abs(a - b) > 0.1 for a, b in zip(before, after)):
            wrong.append(f"a stack without its lowest is not lower, or does not come back: {before} {without} {after}")


def sheets(page, wrong):
    """A head sorts the table of runs, both ways; the field above it keeps the rows with its words."""
    for sheet in page.locator(".sheet").all():
        shown = "rows => rows.filter(row => !row.hidden).map(row => row.cells[0].textContent).join()"
        rows = sheet.locator("tbody tr")
        before = rows.evaluate_all(shown)
        head = sheet.locator("thead th button").first
        head.click()
        head.click()
        after = rows.evaluate_all(shown)
        if before == after or sorted(before.split(",")) != sorted(after.split(",")):
            wrong.append("a head does not sort the table")
        sheet.locator("input").fill("no such words")
        if rows.evaluate_all(shown) != "":
            wrong.append("the field does not filter the table")
        sheet.locator("input").fill("")
        if rows.evaluate_all(shown) != after:
            wrong.append("an empty field does not bring all rows back")


def hover(page, wrong):
    """Under the pointer each chart over time or percentiles tells its moment, and the values of its lines there."""
    for figure in page.locator("figure.chart:has(svg.area[data-of])").all():
        where = figure.get_attribute("id")
        svg = figure.locator("svg.area")
        svg.scroll_into_view_if_needed()
        box = svg.bounding_box()
        page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + box["height"] * 0.5)
        page.mouse.move(box["x"] + box["width"] * 0.31, box["y"] + box["height"] * 0.5)
        rows = figure.locator(".tip > div").all_inner_texts()
        names = figure.locator(".line[data-name]").evaluate_all("all => all.map(one => one.dataset.name)")
        told = {row.rsplit(": ", 1)[0] for row in rows[1:]}
        if len(rows) < 2 or not told <= set(names) or any(":" not in row for row in rows[1:]):
            wrong.append(f"{where}: nothing appears under the pointer: {rows}")
        if not figure.locator(".over line").count() or not figure.locator(".over circle").count():
            wrong.append(f"{where}: no crosshair")
        if where == "chart-throughput":
            # Two thousand operations a second are offered, at a moment of the axis.
            offered = [row for row in rows if row.startswith("offered: ")]
            if offered != ["offered: 2,000 op/s"] or not rows[0].endswith(" s"):
                wrong.append(f"{where}: {rows}")
        tip = figure.locator(".tip").bounding_box()
        if tip["x"] < 0 or tip["x"] + tip["width"] > page.viewport_size["width"]:
            wrong.append(f"{where}: the values stick out: {tip}")
        page.mouse.move(2, 2)
        if figure.locator(".tip").is_visible():
            wrong.append(f"{where}: the values stay")
    # Elsewhere each mark tells about itself.
    silent = page.evaluate("""() => [...document.querySelectorAll('figure.chart')].filter(f =>
        !f.querySelector('svg.area').dataset.of && !f.querySelector('g.mark > title, .cell > title')).map(f => f.id)""")
    if silent:
        wrong.append(f"charts that tell nothing under the pointer: {silent}")


def check(files, shots):
    from playwright.sync_api import sync_playwright

    wrong = []
    with sync_playwright() as playwright:
        browser = launch(playwright)
        for file in files:
            # A telephone and a window in light, a wide screen in dark: a theme changes no width.
            for theme, widths in (("light", (400, 900)), ("dark", (1400,))):
                for width in widths:
                    where, said = f"{file.stem} {theme} {width}", []
                    context = browser.new_context(viewport={"width": width, "height": 1000}, color_scheme=theme)
                    page = opened(context, file, said)
                    look(page, wrong, where)
                    if width == 900 and theme == "light":
                        folds(page, wrong)
                    unfolded(page)
                    scrolled(page)
                    look(page, wrong, where)
                    if width == 900 and theme == "light":
                        zoom(page, wrong)
                        hover(page, wrong)
                        switches(page, wrong)
                        stacks(page, wrong)
                        sheets(page, wrong)
                        colours = "() => [getComputedStyle(document.body).backgroundColor, " \
                            "...[...document.querySelectorAll('.series')].map(s => getComputedStyle(s).getPropertyValue('--c'))]"
                        before = page.evaluate(colours)
                        page.click("#theme")
                        if any(one == other for one, other in zip(before, page.evaluate(colours))):
                            wrong.append(f"{where}: the button does not change the theme")
                        page.click("#theme")
                    page.evaluate("window.scrollTo({ top: 0, behavior: 'instant' })")
                    page.wait_for_timeout(150)
                    if shots:
                        page.screenshot(path=str(shots / f"{file.stem}-{theme}-{width}.png"), full_page=True)
                    wrong.extend(f"{where}: {one}" for one in said)
                    context.close()
            wrong.extend(printed(browser, file, shots))
            wrong.extend(without_script(browser, file, shots))
        browser.close()
    for one in wrong:
        print(one)
    return 1 if wrong else 0


def printed(browser, file, shots):
    """Printed with every part open, from a dark theme: every chart is on the paper, which is light."""
    said = []
    context = browser.new_context(viewport={"width": 1200, "height": 900}, color_scheme="dark")
    page = opened(context, file, said)
    unfolded(page)
    pdf = page.pdf(format="A4", print_background=True)
    page.emulate_media(media="print")
    paper = page.evaluate("() => getComputedStyle(document.documentElement).getPropertyValue('--card').trim()")
    empty = page.evaluate(EMPTY)
    if empty or paper != "#ffffff":
        said.append(f"charts without a drawing on paper of {paper}: {empty}")
    if len(pdf) < 20_000:
        said.append(f"the print has {len(pdf)} bytes only")
    if shots:
        (shots / f"{file.stem}.pdf").write_bytes(pdf)
    context.close()
    return [f"{file.stem} printed: {one}" for one in said]


def without_script(browser, file, shots):
    """Where no script runs every chart is there all the same."""
    said, wrong = [], []
    context = browser.new_context(viewport={"width": 900, "height": 1000}, java_script_enabled=False)
    page = opened(context, file, said)
    unfolded(page)
    empty = page.evaluate(EMPTY)
    if empty or page.locator(".tip").count():
        wrong.append(f"charts without a drawing: {empty}")
    if shots:
        page.screenshot(path=str(shots / f"{file.stem}-without-script.png"), full_page=True)
    context.close()
    return [f"{file.stem} without a script: {one}" for one in wrong + said]


def open_once(file):
    from playwright.sync_api import sync_playwright

    said = []
    with sync_playwright() as playwright:
        browser = launch(playwright)
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page = opened(context, file, said)
        page.wait_for_function("() => window.firstDrawn")
        page.wait_for_timeout(50)
        times = page.evaluate(TIMES)
        browser.close()
    times["said"] = said
    print(json.dumps(times))
    return 1 if said else 0


def main(words):
    # A page that never comes to rest ends this program instead of holding it.
    signal.alarm(PATIENCE_S)
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        print("no Playwright")
        return LACKING
    shots = None
    if "--shots" in words:
        place = words.index("--shots")
        shots = pathlib.Path(words[place + 1])
        shots.mkdir(parents=True, exist_ok=True)
        del words[place:place + 2]
    verb, files = words[0], [pathlib.Path(word) for word in words[1:]]
    return check(files, shots) if verb == "check" else open_once(files[0])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
