/** Keeps back the first half of a character (a surrogate) whose second comes with the next delta. */
export class WholeCharacters {
  readonly #halves = new Map<string, string>();

  /** The delta in whole characters. */
  join(block: string, delta: string): string {
    if (delta === '') return '';
    const text = (this.#halves.get(block) ?? '') + delta;
    this.#halves.delete(block);
    const last = text.charCodeAt(text.length - 1);
    if (last < 0xd800 || last > 0xdbff) return text.toWellFormed();
    this.#halves.set(block, text.slice(-1));
    return text.slice(0, -1).toWellFormed();
  }

  /** What is left at the end of the block: a half without its other one, made well-formed. */
  end(block: string): string {
    const text = this.#halves.get(block) ?? '';
    this.#halves.delete(block);
    return text.toWellFormed();
  }
}
