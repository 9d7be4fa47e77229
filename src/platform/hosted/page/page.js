/** The page: what the visitor types and reads. `marked` and `DOMPurify` stand before it in the document. */
import {
  applyFrame,
  createAnswer,
  createFrameParser,
  isFinal,
  judgeRefusal,
  MAX_TRIES,
  textOf,
  waitBefore,
} from './answer.js';

const { marked, DOMPurify } = globalThis;
const find = (selector) => document.querySelector(selector);
const [list, form, input, status] = ['#messages', '#write', '#message', '#status'].map(find);
const [sendButton, stopButton, newButton] = ['#send', '#stop', '#new'].map(find);
const [passwordForm, passwordInput] = ['#unlock', '#password'].map(find);
const { page: pageId, state: pageState } = document.body.dataset;
const base = `/v1/hosted/${pageId}`;

const SENTENCES = {
  password: 'This page is protected. Enter its password.',
  wrongPassword: 'That is not the password.',
  tooMany: 'That was a lot at once. Please wait a little, then send it again.',
  gone: 'This page is out of service.',
  failed: 'Sorry, that did not work. Please send it again later.',
  answering: 'The answer is being written.',
  stopped: 'Stopped.',
};
/** Of the conversation, kept in the browser. */
const MAX_KEPT = 200;

const memory = loadMemory();
let answering;

DOMPurify.addHook('afterSanitizeAttributes', (node) => {
  if (node.tagName !== 'A') return;
  node.setAttribute('target', '_blank');
  node.setAttribute('rel', 'noopener noreferrer nofollow');
});

for (const { role, text } of memory.messages) addMessage(role, text);
if (memory.pending) void answer(memory.pending, addMessage('assistant', ''));
if (pageState === 'disconnected') tell(SENTENCES.gone);
showState();

form.addEventListener('submit', (event) => {
  event.preventDefault();
  const message = input.value.trim();
  if (message === '' || answering) return;
  input.value = '';
  remember('user', message);
  addMessage('user', message);
  memory.pending = { key: makeId(), message, threadId: memory.threadId };
  save();
  void answer(memory.pending, addMessage('assistant', ''));
});
input.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  form.requestSubmit();
});
stopButton.addEventListener('click', () => {
  const { runId } = answering?.answer ?? {};
  if (runId) void post('/stop', { run_id: runId }, {}).catch(() => {});
});
newButton.addEventListener('click', () => {
  if (answering) return;
  Object.assign(memory, { threadId: null, messages: [], pending: null });
  save();
  for (const message of list.querySelectorAll('.message:not(.greeting)')) message.remove();
  input.focus();
});

/** Asks until the answer is there, and goes on where it was cut off. */
async function answer(pending, element) {
  const current = createAnswer();
  answering = { answer: current };
  showState();
  tell(SENTENCES.answering);
  for (let tries = 0; !isFinal(current) && tries <= MAX_TRIES; tries += 1) {
    const { lastId } = current;
    const { password } = memory;
    const refusal = await read(pending, current, element).catch(() => undefined);
    // A decision may take as long as it takes.
    if (current.lastId > lastId || current.status === 'paused') tries = 0;
    if (isFinal(current)) break;
    const verdict = refusal === undefined ? 'try again' : judgeRefusal({ ...refusal, tries });
    if (verdict === 'password') await askForPassword(password !== undefined);
    if (verdict === 'forget thread') Object.assign(pending, { threadId: null, key: makeId() });
    if (verdict === 'give up') return giveUp(pending, element, refusal);
    if (verdict === 'try again') await pause(waitBefore(tries, refusal?.retryAfterSeconds ?? 0));
  }
  if (!isFinal(current)) return giveUp(pending, element, undefined);
  memory.threadId = current.threadId ?? memory.threadId;
  const text = textOf(current) || SENTENCES.stopped;
  show(element, text);
  finish(text);
}

/** Undefined once the stream has ended, else why there is none. */
async function read(pending, current, element) {
  const { message, threadId, key } = pending;
  const response = await post(
    '/chat',
    { message, ...(threadId ? { thread_id: threadId } : {}) },
    {
      accept: 'text/event-stream',
      'idempotency-key': key,
      ...(current.lastId > 0 ? { 'last-event-id': String(current.lastId) } : {}),
    },
  );
  if (!response.ok) {
    const { error = {} } = await response.json().catch(() => ({}));
    const retryAfterSeconds = Number(response.headers.get('retry-after') ?? 0);
    return { status: response.status, code: error.code ?? '', param: error.param ?? null, retryAfterSeconds };
  }
  const parse = createFrameParser((frame) => {
    applyFrame(current, frame);
    showSoon(element, () => textOf(current));
    stopButton.disabled = current.runId === null;
  });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) parse(piece.value);
  return undefined;
}

function post(path, body, headers) {
  const { visitorId: visitor_id, password } = memory;
  return fetch(base + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ visitor_id, ...(password ? { password } : {}), ...body }),
  });
}

function giveUp(pending, element, refusal) {
  element.remove();
  list.querySelector('.message.user:last-of-type')?.remove();
  memory.messages.pop();
  if (input.value === '') input.value = pending.message;
  const isOver = refusal?.code === 'invalid_state' || refusal?.code === 'not_found';
  finish(undefined);
  tell(isOver ? SENTENCES.gone : refusal?.status === 429 ? SENTENCES.tooMany : SENTENCES.failed);
}

function finish(text) {
  answering = undefined;
  memory.pending = null;
  if (text !== undefined) remember('assistant', text);
  save();
  showState();
  tell('');
  // Read out in one piece, once it is whole.
  if (text !== undefined) find('#spoken').textContent = list.lastElementChild.textContent;
  input.focus();
}

function askForPassword(wasWrong) {
  memory.password = undefined;
  tell(wasWrong ? SENTENCES.wrongPassword : SENTENCES.password);
  passwordForm.hidden = false;
  passwordInput.focus();
  return new Promise((resolve) => {
    passwordForm.onsubmit = (event) => {
      event.preventDefault();
      memory.password = passwordInput.value;
      passwordInput.value = '';
      passwordForm.hidden = true;
      tell(SENTENCES.answering);
      resolve();
    };
  });
}

function addMessage(role, text) {
  const element = document.createElement('div');
  element.className = `message ${role}`;
  element.dir = 'auto';
  list.append(element);
  if (role === 'user') element.textContent = text;
  else show(element, text);
  element.scrollIntoView({ block: 'end' });
  return element;
}

/** Markdown of a model: nothing in it runs, loads or looks like a part of the page. */
function show(element, text) {
  element.innerHTML = DOMPurify.sanitize(marked.parse(text, { gfm: true, breaks: true }), {
    USE_PROFILES: { html: true },
    FORBID_TAGS: [
      'img',
      'picture',
      'video',
      'audio',
      'source',
      'style',
      'form',
      'input',
      'button',
      'select',
      'textarea',
    ],
    FORBID_ATTR: ['style', 'class', 'id', 'name'],
  });
}

const waiting = new Map();
function showSoon(element, text) {
  if (waiting.has(element)) return void waiting.set(element, text);
  waiting.set(element, text);
  requestAnimationFrame(() => {
    const isAtEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 80;
    show(element, waiting.get(element)());
    waiting.delete(element);
    if (isAtEnd) list.scrollTop = list.scrollHeight;
  });
}

function showState() {
  const isBusy = answering !== undefined;
  sendButton.hidden = isBusy;
  stopButton.hidden = !isBusy;
  stopButton.disabled = !answering?.answer.runId;
  newButton.disabled = isBusy;
  const isOut = pageState === 'disconnected';
  sendButton.disabled = isOut;
  input.disabled = isOut;
}

function tell(text) {
  status.textContent = text;
}

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function remember(role, text) {
  memory.messages.push({ role, text });
  memory.messages = memory.messages.slice(-MAX_KEPT);
}

function loadMemory() {
  const fresh = { visitorId: makeId(), threadId: null, messages: [], pending: null };
  try {
    const kept = JSON.parse(localStorage.getItem(keptAs()) ?? 'null');
    return { ...fresh, ...kept, password: sessionStorage.getItem(keptAs()) ?? undefined };
  } catch {
    // A browser that keeps nothing: the conversation lasts as long as the page is open.
    return fresh;
  }
}

function save() {
  const { password, ...kept } = memory;
  try {
    localStorage.setItem(keptAs(), JSON.stringify(kept));
    if (password) sessionStorage.setItem(keptAs(), password);
  } catch {
    // See loadMemory.
  }
}

function keptAs() {
  return `hosted/${pageId}`;
}

/** 128 random bits; `randomUUID` is not there without https. */
function makeId() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
