/**
 * Names for SQL texts that come again, so that connections prepare them once. A prepared statement costs memory on every
 * connection until it closes, so the number of names is bounded: texts that differ each time (lists of varying length)
 * are left unnamed.
 */
const maxCandidates = 2_000;
/** A text earns its name the second time it is seen. */
const namedAtUse = 2;

export class PreparedNames {
  readonly #prefix: string;
  readonly #maxNames: number;
  readonly #names = new Map<string, string>();
  readonly #uses = new Map<string, number>();

  /** Two with the same prefix on one connection would give two texts one name. */
  constructor(prefix: string, maxNames: number) {
    this.#prefix = prefix;
    this.#maxNames = maxNames;
  }

  nameOf(text: string): string | undefined {
    const name = this.#names.get(text);
    if (name !== undefined || this.#names.size >= this.#maxNames) return name;
    const uses = (this.#uses.get(text) ?? 0) + 1;
    if (uses < namedAtUse) {
      if (this.#uses.size >= maxCandidates) this.#uses.clear();
      this.#uses.set(text, uses);
      return undefined;
    }
    this.#uses.delete(text);
    const given = `${this.#prefix}_${this.#names.size}`;
    this.#names.set(text, given);
    return given;
  }
}
