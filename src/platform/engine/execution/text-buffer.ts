/** Pieces that are kept before they are joined. */
const PIECES = 64;

/**
 * A text that grows by small pieces. Adding strings up would keep every piece and a link for each: several times the
 * text, in objects that live as long as the answer does. Here they are joined every so often.
 */
export class TextBuffer {
  readonly #joined: string[] = [];
  #pieces: string[] = [];

  add(piece: string): void {
    if (this.#pieces.push(piece) < PIECES) return;
    this.#joined.push(this.#pieces.join(''));
    this.#pieces = [];
  }

  toString(): string {
    return this.#joined.join('') + this.#pieces.join('');
  }
}
