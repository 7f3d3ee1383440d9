"""Opens reports from files in headless Chromium, with every network refused, and checks what a reader would see.

usage: browser.py check PAGE... [--shots FOLDER]     all checks; ends with 77 where browser or Playwright are missing
       browser.py open PAGE                          opens the page once and prints its times in ms, as JSON
"""

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
# Runs before the page's own scripts: notes when the first chart that is in view has been drawn and painted.
WATCH = """new MutationObserver((_, self) => {
  if (document.querySelector("figure.chart[data-drawn] .main-svg")) {
    self.disconnect();
    requestAnimationFrame(() => setTimeout(() => { window.firstDrawn = performance.now(); }, 0));
  }
}).observe(document, { subtree: true, attributes: true, attributeFilter: ["data-drawn"] });"""


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
    return page


def scrolled(page):
    """Scrolls through the whole page, as a reader does, and back. A chart that is looked at is drawn, however
    slowly the machine paints: each step waits for two frames, since the page learns what is in view from frames."""
    page.evaluate("""async () => {
      const frame = () => new Promise(done => requestAnimationFrame(done));
      for (let y = 0; y <= document.documentElement.scrollHeight; y += 350) {
        window.scrollTo({ top: y, behavior: 'instant' });
        await frame();
        await frame();
      }
    }""")
    page.wait_for_function("() => [...document.querySelectorAll('figure.chart')].every(f => f.dataset.drawn)")
    page.evaluate("window.scrollTo({ top: 0, behavior: 'instant' })")
    page.wait_for_timeout(150)


def look(page, wrong, where):
    """Every chart has lines or marks, and nothing sticks out of the page."""
    empty = page.evaluate("""() => [...document.querySelectorAll('figure.chart')].filter(f =>
        !f.querySelector('.scatterlayer .trace path, .heatmaplayer image') || f.querySelector('.main-svg').getBoundingClientRect().width < 200
      ).map(f => f.id)""")
    if empty:
        wrong.append(f"{where}: charts without a drawing: {empty}")
    too_wide = page.evaluate("""() => ({ page: document.documentElement.scrollWidth, window: window.innerWidth,
      culprits: [...document.querySelectorAll('body *')].filter(e => !e.closest('.scroll, pre, nav, svg, .plot')
        && e.getBoundingClientRect().right > window.innerWidth + 1).slice(0, 5).map(e => e.tagName + '.' + e.className) })""")
    if too_wide["page"] > too_wide["window"]:
        wrong.append(f"{where}: wider than the window: {too_wide}")


def ranges(page, selector):
    return page.evaluate(f"""() => [...document.querySelectorAll({selector!r})].map(f =>
        f.querySelector('.plot').layout.xaxis.range.map(Number))""")


def drag(page, figure, parts=(0.3, 0.6)):
    """Drags across the chart's middle, from one part of its width to another."""
    plot = page.locator(f"#{figure} .nsewdrag").first
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * parts[0], y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * parts[1], y, steps=8)
    page.mouse.up()
    page.wait_for_timeout(400)


def zoom(page, wrong):
    """A drag zooms the chart, and with it every chart over time; a double click takes all of them back."""
    figures = page.evaluate("[...document.querySelectorAll('figure.chart')].map(f => f.id)")
    first = "chart-throughput" if "chart-throughput" in figures else figures[0]
    over_time = "#time figure.chart, #generator figure.chart, #nodes figure.chart, #host figure.chart"
    before = ranges(page, f"#{first}")
    others = ranges(page, over_time)
    drag(page, first)
    after = ranges(page, f"#{first}")
    if after == before or not before[0][0] < after[0][0] < after[0][1] < before[0][1]:
        wrong.append(f"the drag did not zoom: {before} {after}")
    if any(one != after[0] for one in ranges(page, over_time)):
        wrong.append(f"not every chart over time zoomed along: {ranges(page, over_time)}")
    page.locator(f"#{first} .nsewdrag").first.dblclick()
    page.wait_for_timeout(500)
    if ranges(page, over_time) != others:
        wrong.append(f"a double click did not go back: {others} {ranges(page, over_time)}")


def switches(page, wrong):
    """Each switch of the legend takes its bands away and brings them back."""
    shapes = "() => document.querySelector('#chart-throughput .plot').layout.shapes.length"
    for box in page.locator("[data-band]").all():
        before = page.evaluate(shapes)
        box.uncheck()
        without = page.evaluate(shapes)
        box.check()
        if not (without < before == page.evaluate(shapes)):
            wrong.append(f"the switch {box.get_attribute('data-band')} changes nothing: {before} {without}")


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
    figure = page.locator("figure.chart").first
    box = figure.locator(".nsewdrag").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + box["height"] * 0.5)
    page.mouse.move(box["x"] + box["width"] * 0.52, box["y"] + box["height"] * 0.5)
    try:
        page.wait_for_selector("figure.chart .hoverlayer text", timeout=3000, state="attached")
    except Exception:
        if page.locator("#chart-throughput").count():
            wrong.append("nothing appears under the pointer")
    page.mouse.move(2, 2)


def check(files, shots):
    from playwright.sync_api import sync_playwright

    wrong = []
    with sync_playwright() as playwright:
        browser = launch(playwright)
        for file in files:
            # A telephone and a window in light, a wide screen in dark: a theme changes no width.
            for theme, widths in (("light", (400, 900)), ("dark", (1600,))):
                for width in widths:
                    where, said = f"{file.stem} {theme} {width}", []
                    context = browser.new_context(viewport={"width": width, "height": 1000}, color_scheme=theme)
                    page = opened(context, file, said)
                    page.wait_for_timeout(300)
                    all_at_once = page.evaluate(
                        "() => [...document.querySelectorAll('figure.chart')].every(f => f.dataset.drawn)")
                    if all_at_once and page.locator("figure.chart").count() > 8:
                        wrong.append(f"{where}: charts below the fold were drawn before they were seen")
                    scrolled(page)
                    look(page, wrong, where)
                    if width == 900 and theme == "light":
                        zoom(page, wrong)
                        hover(page, wrong)
                        switches(page, wrong)
                        sheets(page, wrong)
                        background = "() => getComputedStyle(document.body).backgroundColor"
                        before = page.evaluate(background)
                        page.click("#theme")
                        if page.evaluate(background) == before:
                            wrong.append(f"{where}: the button does not change the theme")
                        page.click("#theme")
                    page.evaluate("window.scrollTo({ top: 0, behavior: 'instant' })")
                    page.wait_for_timeout(150)
                    if shots:
                        page.screenshot(path=str(shots / f"{file.stem}-{theme}-{width}.png"), full_page=True)
                    wrong.extend(f"{where}: {one}" for one in said)
                    context.close()
            wrong.extend(printed(browser, file, shots))
        browser.close()
    for one in wrong:
        print(one)
    return 1 if wrong else 0


def printed(browser, file, shots):
    """Printed unread, from a dark theme: every chart is on the paper, which is light."""
    said = []
    context = browser.new_context(viewport={"width": 1200, "height": 900}, color_scheme="dark")
    page = opened(context, file, said)
    pdf = page.pdf(format="A4", print_background=True)
    drawn = page.evaluate("() => [...document.querySelectorAll('figure.chart')].every(f => f.dataset.drawn)")
    if not drawn:
        said.append("a chart that nobody scrolled to was not drawn for print")
    if len(pdf) < 20_000:
        said.append(f"the print has {len(pdf)} bytes only")
    if shots:
        (shots / f"{file.stem}.pdf").write_bytes(pdf)
    context.close()
    return [f"{file.stem} printed: {one}" for one in said]


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
