/** What an answer of a model may have. Whoever stores a key chooses who answers, and one answer must not take the server's memory. */

/** As it comes: several times what the longest answers have, each word of them in a chunk of its own. */
export const ANSWER_BYTES_MAX = 64 * 1024 * 1024;
/** Of its texts, thoughts and arguments of tools together: models give some 600,000 at most. */
export const ANSWER_CHARS_MAX = 4 * 1024 * 1024;
/** Of tools, in one answer. */
export const ANSWER_CALLS_MAX = 1_000;

/** The message says what there is too much of. */
export class AnswerTooLarge extends Error {
  override readonly name = 'AnswerTooLarge';
}
