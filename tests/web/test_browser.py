"""Accounts in a real browser: the first start, an invitation, the keyboard, the policy, and what axe says."""

import re

import pytest

from tests.support.browser_pages import PATIENCE, follow
from tests.web.conftest import PASSWORD


@pytest.fixture
def tab(browser, live):
    """A page that remembers what the browser complained about and whom it asked."""
    context = browser.new_context(base_url=live.url, viewport={"width": 1100, "height": 800})
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.heard, page.asked = [], []
    page.on("console", lambda message: page.heard.append(message.text))
    page.on("pageerror", lambda error: page.heard.append(str(error)))
    page.on("request", lambda asked: page.asked.append(asked.url))
    yield page
    context.close()


def first_link(live) -> str:
    return re.search(r"/join/[\w-]+", (live.settings.data / "log").read_text())[0]


@pytest.mark.parametrize("has_clipboard", [True, False])
def test_a_link_is_copied_or_at_least_selected(browser, live, has_clipboard):
    context = browser.new_context(base_url=live.url)
    if has_clipboard:
        context.grant_permissions(["clipboard-read", "clipboard-write"])
    else:  # as on a site without HTTPS, and in a browser that refuses the old way too
        context.add_init_script(
            "Object.defineProperty(navigator, 'clipboard', { value: undefined }); document.execCommand = () => false;"
        )
    context.add_cookies([live.cookie("Olga", "organiser")])
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto("/people")
    follow(page, page.get_by_role("button", name="Make a link"))
    page.get_by_role("button", name="Copy").click()
    page.get_by_role("button", name="Copied" if has_clipboard else "Selected: press Ctrl+C").wait_for()
    text = "navigator.clipboard.readText()" if has_clipboard else "getSelection().toString()"
    assert page.evaluate(text) == page.locator("#link").inner_text()
    context.close()


def test_from_the_first_start_to_a_second_person(browser, live, tab, axe):
    tab.goto(first_link(live))
    assert axe(tab) == []
    assert tab.evaluate("document.activeElement.id") == "name"
    tab.keyboard.type("<b>Olga</b>")
    for words in (PASSWORD, PASSWORD):
        tab.keyboard.press("Tab")
        tab.keyboard.type(words)
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/")
    assert tab.locator("p.flash").inner_text() == "Welcome. Your account is ready."
    assert tab.locator(".who a").inner_text() == "<b>Olga</b>"

    follow(tab, tab.get_by_role("link", name="People"))
    tab.get_by_label("Note for yourself").fill("for 小红")
    follow(tab, tab.get_by_role("button", name="Make a link"))
    link = tab.locator("#link").inner_text()
    assert axe(tab) == []

    other = browser.new_context(locale="zh-CN").new_page()
    other.goto(link)
    assert axe(other) == []
    other.get_by_label("名字").fill("小红")
    other.get_by_label("密码", exact=True).fill("雨打在老屋屋顶上的声音")
    other.get_by_label("再输入一次密码").fill("雨打在老屋屋顶上的声音")
    follow(other, other.get_by_role("button", name="创建账户"))
    other.get_by_role("link", name="标注", exact=True).wait_for()
    assert other.get_by_role("link", name="成员").count() == 0
    other.context.close()

    tab.goto("/account")
    tab.get_by_label("Name of the token").fill("ci")
    follow(tab, tab.get_by_role("button", name="Make a token"))
    token = tab.locator("#secret").inner_text()
    assert axe(tab) == []
    answer = tab.request.get("/api/v1/me", headers={"Authorization": f"Bearer {token}"})
    assert answer.json()["role"] == "organiser"
    for page in ("/audit", "/api", "/people", "/", "/nowhere"):
        tab.goto(page)
        assert axe(tab) == [], page
    follow(tab, tab.get_by_role("button", name="中文"))
    assert tab.get_by_role("link", name="成员").count() == 1
    tab.get_by_role("button", name="退出").click()
    tab.wait_for_url("**/login")

    complaints = [text for text in tab.heard if "404" not in text]
    assert complaints == [], "the policy forbids nothing that our pages do"
    assert {url for url in tab.asked if not url.startswith(live.url)} == set(), "nothing is asked of other machines"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_can_be_read_in_both_schemes_and_on_a_phone(browser, live, axe, scheme):
    cookie = live.cookie("Olga", "organiser")
    context = browser.new_context(color_scheme=scheme, viewport={"width": 360, "height": 700}, base_url=live.url)
    context.add_cookies([cookie])
    page = context.new_page()
    for path in ("/people", "/account", "/audit", "/api"):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, path
        assert axe(page) == [], path
    context.close()


def test_a_script_that_got_in_would_not_run(live, tab):
    """The policy is real: the browser itself refuses inline script, a frame and another host."""
    tab.goto("/login")
    with tab.expect_console_message(lambda message: "Content Security Policy" in message.text):
        tab.evaluate(
            """() => new Promise((failed) => {
            const script = document.createElement('script'); script.textContent = 'window.owned = 1';
            document.body.append(script);
            const image = document.createElement('img'); image.setAttribute('onerror', 'window.owned = 1');
            image.addEventListener('error', () => failed());
            image.src = 'x:';
            document.body.append(image);
        })"""
        )
    assert tab.evaluate("window.owned") is None
