/** Keeps back the first half of a character (a surrogate) whose second comes with the next delta. */
export class WholeCharacters {
  readonly #halves = new Map<string, string>();

  /** The delta in whole characters. */
  join(block: string, delta: string): string {
    if (delta === '') return '';
    const text = this.#halves.size === 0 ? delta : this.#takeHalf(block) + delta;
    const last = text.charCodeAt(text.length - 1);
    if (last < 0xd800 || last > 0xdbff) return text.toWellFormed();
    this.#halves.set(block, text.slice(-1));
    return text.slice(0, -1).toWellFormed();
  }

  /** What is left at the end of the block: a half without its other one, made well-formed. */
  end(block: string): string {
    return this.#takeHalf(block).toWellFormed();
  }

  #takeHalf(block: string): string {
    const half = this.#halves.get(block) ?? '';
    this.#halves.delete(block);
    return half;
  }
}
