/** What the browser keeps of a page: who its visitor is, the thread, what was said, and the message that is not answered yet. */

/** Messages of a conversation. */
const MAX_KEPT = 200;
/** The server knows a message's key for a day; later it would be another message. */
const KEY_LIVES_MS = 24 * 60 * 60 * 1000;

export function openMemory(pageId) {
  const place = `hosted/${pageId}`;
  const kept = readKept(place);
  return {
    visitorId: makeId(),
    threadId: null,
    /** Of `{ role, text }`. */
    messages: [],
    /** `{ key, message, threadId, sentAt, runId }`, or null; `runId`: null until the server is known to have it. */
    pending: null,
    ...kept,
    ...(kept.pending && Date.now() - kept.pending.sentAt > KEY_LIVES_MS ? { pending: null } : {}),
    remember(role, text) {
      this.messages = [...this.messages, { role, text }].slice(-MAX_KEPT);
    },
    save() {
      const { visitorId, threadId, messages, pending, password } = this;
      try {
        localStorage.setItem(place, JSON.stringify({ visitorId, threadId, messages, pending }));
        if (password) sessionStorage.setItem(place, password);
      } catch {
        // See readKept.
      }
    },
  };
}

function readKept(place) {
  try {
    return { ...JSON.parse(localStorage.getItem(place)), password: sessionStorage.getItem(place) ?? undefined };
  } catch {
    // A browser that keeps nothing: the conversation lasts as long as the page is open.
    return {};
  }
}

/** 128 random bits; `randomUUID` is not there without https. */
export function makeId() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
