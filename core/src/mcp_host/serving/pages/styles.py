"""The styles that pages of packs share: colours by day and night, type, cards, buttons, tables."""

PAGE_STYLES = """
:root {
  color-scheme: light dark;
  --ground: #f6f7f9; --card: #ffffff; --ink: #1b2430; --soft: #5b6775; --line: #dfe3e8;
  --accent: #2457c5; --on-accent: #ffffff; --good: #1a7f4b; --warn: #9a6200; --bad: #b3261e;
  --tint: #e8eefb; --shadow: 0 1px 2px rgb(20 30 50 / 8%);
}
@media (prefers-color-scheme: dark) {
  :root:not([data-theme="light"]) {
    --ground: #11151b; --card: #1a2029; --ink: #e6eaf0; --soft: #9aa6b4; --line: #2c3541;
    --accent: #8ab0ff; --on-accent: #0e1420; --good: #63d29a; --warn: #e5b567; --bad: #ff8f87;
    --tint: #22304a; --shadow: none;
  }
}
:root[data-theme="dark"] {
  --ground: #11151b; --card: #1a2029; --ink: #e6eaf0; --soft: #9aa6b4; --line: #2c3541;
  --accent: #8ab0ff; --on-accent: #0e1420; --good: #63d29a; --warn: #e5b567; --bad: #ff8f87;
  --tint: #22304a; --shadow: none;
}
:root[data-theme="light"] { color-scheme: light; }
:root[data-theme="dark"] { color-scheme: dark; }
* { box-sizing: border-box; }
html, body { margin: 0; height: 100%; }
body {
  background: var(--ground); color: var(--ink);
  font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
}
h1, h2, h3 { line-height: 1.25; margin: 0; font-weight: 600; }
h1 { font-size: 1.1rem; } h2 { font-size: 1rem; } h3 { font-size: .9rem; }
a { color: var(--accent); }
button, input, select, textarea {
  font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line);
  border-radius: 6px; padding: .3rem .6rem; min-height: 2rem;
}
button { cursor: pointer; }
button:hover { border-color: var(--accent); }
button[aria-pressed="true"], button.primary {
  background: var(--accent); color: var(--on-accent); border-color: var(--accent);
}
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
.card {
  background: var(--card); border: 1px solid var(--line); border-radius: 8px;
  box-shadow: var(--shadow); padding: .5rem .65rem;
}
.soft { color: var(--soft); } .good { color: var(--good); } .warn { color: var(--warn); }
.bad { color: var(--bad); }
.pill {
  display: inline-block; border-radius: 999px; padding: 0 .5rem; font-size: .78rem;
  background: var(--tint); color: var(--ink); white-space: nowrap;
}
@media (prefers-reduced-motion: reduce) {
  * { animation: none !important; transition: none !important; }
}
"""
