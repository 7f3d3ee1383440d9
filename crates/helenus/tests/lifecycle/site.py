"""Looks at every page of `helenus ui` in a browser: no error, no other address, nothing wider than the window.

Ends with 77 where there is no browser."""

import shutil
import sys

try:
    from playwright.sync_api import Error, sync_playwright
except ImportError:
    print("no Playwright")
    sys.exit(77)

PATHS = ["", "trend", "comparisons", "comparison/cmp1", "experiments", "clusters", "run/r1", "compare?a=r1&b=r2", "log/c/node1", "x"]


def browser(playwright):
    own = shutil.which("chromium") or shutil.which("chromium-browser")
    try:
        return playwright.chromium.launch(executable_path=own, args=["--no-sandbox"])
    except Error as error:
        print(error)
        sys.exit(77)


def main(url):
    wrong = []
    with sync_playwright() as playwright:
        chromium = browser(playwright)
        for theme in ["light", "dark"]:
            for width in [400, 1600]:
                context = chromium.new_context(color_scheme=theme, viewport={"width": width, "height": 900})
                page = context.new_page()
                where = f"{theme}, {width} px"
                page.on("pageerror", lambda error: wrong.append(f"{page.url} ({where}): {error}"))
                page.on("request", lambda asked: asked.url.startswith(url) or wrong.append(f"asks {asked.url}"))

                def heard(message):
                    # A page that is not there is said to be so.
                    if message.type == "error" and "404" not in message.text:
                        wrong.append(f"{page.url} ({where}): {message.text}")

                page.on("console", heard)
                for path in PATHS:
                    page.goto(url + path)
                    wide = page.evaluate("document.documentElement.scrollWidth")
                    if wide > width:
                        wrong.append(f"{path} is {wide} px wide ({where})")
                if theme == "dark":
                    continue
                # The theme that is chosen stays on the next page; a run leads to its report; ticks lead to a comparison.
                page.goto(url)
                page.click("#theme")
                with page.expect_navigation():
                    page.click("text=Trends")
                chosen = page.evaluate("document.documentElement.dataset.theme")
                if chosen != "dark":
                    wrong.append(f"the theme is {chosen} on the next page")
                page.goto(url)
                page.check("input[name=a][value=r1]")
                page.check("input[name=b][value=r2]")
                with page.expect_navigation():
                    page.click("text=Compare A with B")
                if "compare" not in page.url or not page.query_selector("text=no claim"):
                    wrong.append(f"ticks lead to {page.url}")
                # By keyboard: the first stop is the navigation.
                page.goto(url)
                page.keyboard.press("Tab")
                if page.evaluate("document.activeElement.textContent") != "Runs":
                    wrong.append("the first stop is not the navigation")
                context.close()
        chromium.close()
    print("\n".join(wrong))
    return 1 if wrong else 0


sys.exit(main(sys.argv[1]))
