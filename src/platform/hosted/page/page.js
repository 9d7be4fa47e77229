/** The page: what the visitor types and reads. What it imports, `marked` and `DOMPurify` stand before it in the document. */
import { applyFrame, createAnswer, createFrameParser, isFinal, judgeRefusal, textOf, waitBefore } from './answer.js';
import { showMarkdown } from './markdown.js';
import { makeId, openMemory } from './memory.js';

const find = (selector) => document.querySelector(selector);
const [list, status, spoken] = ['#messages', '#status', '#spoken'].map(find);
const [writeForm, input, sendButton, stopButton, newButton] = ['#write', '#message', '#send', '#stop', '#new'].map(
  find,
);
const [unlockForm, passwordInput] = ['#unlock', '#password'].map(find);
const { page: pageId, state: pageState, locked } = document.body.dataset;

const SENTENCES = {
  password: 'This page is protected. Enter its password.',
  wrongPassword: 'That is not the password.',
  tooMany: 'That was a lot at once. Please wait a little, then send it again.',
  gone: 'This page is out of service.',
  failed: 'Sorry, that did not work. Please send it again later.',
  answering: 'The answer is being written.',
  waiting: 'The answer has to wait.',
  reconnecting: 'There is no connection. Trying again…',
  stopping: 'Stopping…',
  stopped: 'Stopped.',
  empty: 'There was nothing to say.',
};
/** The server says something every 15 seconds, if only that it is there. */
const SILENCE_MS = 45_000;
const NEAR_END_PX = 80;
/** As a refusal: the server was not reached, or said no more. */
const CUT = { status: 0, code: '', param: null, retryAfterSeconds: 0 };

const memory = openMemory(pageId);
/** The exchange that goes on: `{ pending, answer, element, abort, isStopping }`. */
let current;
let frameRequest = 0;

for (const { role, text } of memory.messages) addMessage(role, text);
if (pageState === 'disconnected') tell(SENTENCES.gone);
else if (memory.pending) void exchange(memory.pending);
else if (locked === 'true' && !memory.password) void askForPassword(SENTENCES.password).then(() => tell(''));
showState();

writeForm.addEventListener('submit', (event) => {
  event.preventDefault();
  const message = input.value.trim();
  if (message === '' || current) return;
  input.value = '';
  input.focus();
  addMessage('user', message);
  memory.remember('user', message);
  memory.pending = { key: makeId(), message, threadId: memory.threadId, sentAt: Date.now(), runId: null };
  memory.save();
  void exchange(memory.pending);
});
input.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  writeForm.requestSubmit();
});
stopButton.addEventListener('click', () => {
  if (!current) return;
  const { pending, abort, isStopping } = current;
  if (pending.runId) return stopRun(pending.runId);
  // The server may have the message: its first frame says so. Who does not want to wait for that presses again.
  if (isStopping) return abort.abort();
  current.isStopping = true;
  tell(SENTENCES.stopping);
});
newButton.addEventListener('click', () => {
  Object.assign(memory, { threadId: null, messages: [] });
  memory.save();
  for (const message of list.querySelectorAll('.message:not(.greeting)')) message.remove();
  spoken.textContent = '';
  input.focus();
});

/** Asks until the answer is there, or there is none. */
async function exchange(pending) {
  const answer = createAnswer();
  const element = addMessage('assistant', '');
  current = { pending, answer, element, abort: new AbortController(), isStopping: false };
  showState();
  tell(SENTENCES.answering);
  const refusal = await readToEnd(current);
  current = undefined;
  memory.pending = null;
  const said = textOf(answer);
  if (isFinal(answer) || said !== '') keepAnswer(element, answer, said);
  else takeBack(element, pending);
  memory.save();
  showState();
  tell(sentenceAfter(answer, refusal));
  // Where the focus was on a button that is gone.
  if ([document.body, stopButton].includes(document.activeElement)) input.focus();
}

/** Undefined once the answer is whole, else why there is none. Goes on where it was cut off. */
async function readToEnd(asked) {
  const {
    pending,
    answer,
    abort: { signal },
  } = asked;
  for (let tries = 0; ; tries += 1) {
    const { lastId } = answer;
    const refusal = await readOnce(asked).catch(() => CUT);
    if (isFinal(answer)) return undefined;
    if (signal.aborted) return CUT;
    if (answer.lastId > lastId) tries = 0;
    // It waits for its turn no longer, and has not begun.
    if (asked.isStopping && refusal.code === 'conversation_locked') return CUT;
    const verdict = judgeRefusal({ ...refusal, tries, hasBegun: Boolean(pending.runId) });
    if (verdict === 'give up') return refusal;
    if (verdict === 'password') await askForPassword(memory.password ? SENTENCES.wrongPassword : SENTENCES.password);
    if (verdict === 'forget thread') Object.assign(pending, { threadId: null, key: makeId() });
    if (verdict === 'try again') await pause(waitBefore(tries, refusal.retryAfterSeconds), signal);
    memory.save();
  }
}

/** One stream, to its end or its cut; what it was refused with, if it was. */
async function readOnce(asked) {
  const { pending, answer, element, abort } = asked;
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(), SILENCE_MS);
  const signal = AbortSignal.any([abort.signal, silence.signal]);
  try {
    const response = await sendMessage(pending, answer.lastId, signal);
    if (!response.ok) return await readRefusal(response);
    const parse = createFrameParser((frame) => take(frame, asked));
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), SILENCE_MS);
      parse(piece.value);
      showSoon(element, answer);
    }
    return CUT;
  } catch (error) {
    if (!abort.signal.aborted) tell(SENTENCES.reconnecting);
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

function take(frame, { pending, answer, isStopping }) {
  applyFrame(answer, frame);
  if (!isStopping) tell(answer.status === 'paused' ? SENTENCES.waiting : SENTENCES.answering);
  if (pending.runId || answer.runId === null) return;
  pending.runId = answer.runId;
  memory.save();
  if (isStopping) stopRun(pending.runId);
}

function stopRun(runId) {
  post('/stop', { run_id: runId }, {}).catch(() => tell(SENTENCES.reconnecting));
}

function sendMessage({ message, threadId, key }, lastId, signal) {
  const headers = { accept: 'text/event-stream', 'idempotency-key': key };
  if (lastId > 0) headers['last-event-id'] = String(lastId);
  return post('/chat', { message, ...(threadId ? { thread_id: threadId } : {}) }, headers, signal);
}

function post(path, body, headers, signal) {
  const { visitorId: visitor_id, password } = memory;
  return fetch(`/v1/hosted/${pageId}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ visitor_id, ...(password ? { password } : {}), ...body }),
    signal,
  });
}

async function readRefusal(response) {
  const { error = {} } = await response.json().catch(() => ({}));
  const retryAfterSeconds = Number(response.headers.get('retry-after') ?? 0);
  return { status: response.status, code: error.code ?? '', param: error.param ?? null, retryAfterSeconds };
}

function sentenceAfter({ status: end }, refusal) {
  if (end === 'cancelled' || refusal === CUT) return SENTENCES.stopped;
  if (refusal === undefined) return '';
  if (refusal.code === 'invalid_state' || refusal.code === 'not_found') return SENTENCES.gone;
  return refusal.status === 429 ? SENTENCES.tooMany : SENTENCES.failed;
}

function keepAnswer(element, { threadId, status: end }, said) {
  const text = said || (end === 'cancelled' ? SENTENCES.stopped : SENTENCES.empty);
  memory.threadId = threadId ?? memory.threadId;
  memory.remember('assistant', text);
  showNow(element, text);
  // Read out in one piece, once it is whole.
  spoken.textContent = element.textContent;
}

/** As if it had not been sent: it can be sent again. */
function takeBack(element, { message }) {
  element.previousElementSibling.remove();
  element.remove();
  memory.messages.pop();
  if (input.value === '') input.value = message;
}

async function askForPassword(sentence) {
  memory.password = undefined;
  tell(sentence);
  unlockForm.hidden = false;
  writeForm.hidden = true;
  passwordInput.focus();
  await new Promise((resolve) => {
    unlockForm.onsubmit = (event) => {
      event.preventDefault();
      resolve();
    };
  });
  memory.password = passwordInput.value;
  memory.save();
  passwordInput.value = '';
  unlockForm.hidden = true;
  writeForm.hidden = false;
  tell(SENTENCES.answering);
  input.focus();
}

function addMessage(role, text) {
  const element = document.createElement('div');
  element.className = `message ${role}`;
  element.dir = 'auto';
  element.setAttribute('role', 'group');
  element.setAttribute('aria-label', role === 'user' ? 'You' : 'Answer');
  if (role === 'user') element.textContent = text;
  else showMarkdown(element, text);
  list.append(element);
  list.scrollTop = list.scrollHeight;
  return element;
}

function showSoon(element, answer) {
  frameRequest ||= requestAnimationFrame(() => showNow(element, textOf(answer)));
}

function showNow(element, text) {
  cancelAnimationFrame(frameRequest);
  frameRequest = 0;
  const isAtEnd = list.scrollHeight - list.scrollTop - list.clientHeight < NEAR_END_PX;
  showMarkdown(element, text);
  if (isAtEnd) list.scrollTop = list.scrollHeight;
}

function showState() {
  const isBusy = current !== undefined;
  const isOut = pageState === 'disconnected';
  sendButton.hidden = isBusy;
  stopButton.hidden = !isBusy;
  newButton.disabled = isBusy;
  sendButton.disabled = isOut;
  input.disabled = isOut;
}

function tell(text) {
  if (status.textContent !== text) status.textContent = text;
}

/** Until then, until the browser has a network again, or until the visitor stops it. */
function pause(ms, signal) {
  const { promise, resolve } = Promise.withResolvers();
  const timer = setTimeout(resolve, ms);
  addEventListener('online', resolve);
  signal.addEventListener('abort', resolve);
  return promise.finally(() => {
    clearTimeout(timer);
    removeEventListener('online', resolve);
    signal.removeEventListener('abort', resolve);
  });
}
