/** Markdown of a model on the page: nothing in it runs, loads, or looks like a part of the page. */

const { DOMPurify, marked } = globalThis;

/** What Markdown makes, and what models write beside it. */
const TAGS = (
  'a b blockquote br code del details em h2 h3 h4 h5 h6 hr i kbd li ol p pre s strong sub summary sup table tbody td th ' +
  'thead tr u ul'
).split(' ');
const ALLOWED = {
  ALLOWED_TAGS: TAGS,
  ALLOWED_ATTR: ['align', 'href', 'start', 'title'],
  ALLOW_ARIA_ATTR: false,
  ALLOW_DATA_ATTR: false,
};

/** Without attributes, as HTML that models write beside Markdown; other HTML is shown as it is. */
const PLAIN_TAG = /&lt;(\/?(?:b|br|code|del|details|em|hr|i|kbd|pre|s|strong|sub|summary|sup|u)\s*\/?)&gt;/gi;

marked.use({
  gfm: true,
  breaks: true,
  renderer: {
    checkbox: ({ checked }) => (checked ? '☑ ' : '☐ '),
    // Not left to DOMPurify: what it would take away, the browser has parsed, and told the page's policy of.
    html: ({ text }) => text.replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll(PLAIN_TAG, '<$1>'),
  },
});

DOMPurify.addHook('afterSanitizeAttributes', (node) => {
  if (node.tagName !== 'A') return;
  node.setAttribute('target', '_blank');
  node.setAttribute('rel', 'noopener noreferrer nofollow');
  if (node.textContent.trim() === '') node.textContent = node.getAttribute('href') ?? '';
});

/** Puts the text in the place of what the element holds; as it is where it cannot be read as Markdown. */
export function showMarkdown(element, text) {
  try {
    element.innerHTML = DOMPurify.sanitize(marked.parse(text, { walkTokens: createChanges() }), ALLOWED);
  } catch {
    element.textContent = text;
  }
  for (const code of element.querySelectorAll('pre')) makeScrollable(code, 'Code');
  for (const table of element.querySelectorAll('table')) {
    const frame = document.createElement('div');
    table.replaceWith(frame);
    frame.append(table);
    makeScrollable(frame, 'Table');
  }
}

/** Of one text: images become links to them, and headings follow on the page's own, each at most one level further in. */
function createChanges() {
  let level = 1;
  return (token) => {
    if (token.type === 'heading') {
      level = Math.min(token.depth + 1, level + 1, 6);
      token.depth = level;
    }
    if (token.type === 'link') nameImages(token.tokens);
    if (token.type === 'image') {
      const { raw, text, href } = token;
      Object.assign(token, { type: 'link', tokens: [{ type: 'text', raw, text: text || href, escaped: false }] });
    }
  };
}

/** A link in a link is none. */
function nameImages(tokens) {
  for (const token of tokens ?? []) {
    if (token.type === 'image') Object.assign(token, { type: 'text', tokens: undefined, escaped: false });
    nameImages(token.tokens);
  }
}

/** By keyboard too, in every browser. */
function makeScrollable(element, label) {
  element.tabIndex = 0;
  element.setAttribute('role', 'group');
  element.setAttribute('aria-label', label);
}
