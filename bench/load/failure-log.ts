const EXAMPLES = 3;

export class FailureLog {
  readonly examples: string[] = [];
  count = 0;

  add(failure: string): void {
    this.count += 1;
    if (this.examples.length < EXAMPLES) this.examples.push(failure);
  }

  /** Throws with the first failures when nothing was measured. */
  refuseTotalLoss(somethingMeasured: boolean): void {
    if (!somethingMeasured)
      throw new Error(`every request failed; the first: ${this.examples.join(' | ') || 'none sent'}`);
  }
}
