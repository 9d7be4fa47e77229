/** Work that shares the machine, and work that needs it alone. */
export class ExclusiveTurn {
  #sharing = 0;
  #alone: Promise<unknown> = Promise.resolve();
  #idle = Promise.withResolvers<void>();

  /** Waits for work that is alone, then runs beside other shared work. */
  async share<Result>(work: () => Promise<Result>): Promise<Result> {
    for (let awaited: unknown; awaited !== this.#alone; ) {
      awaited = this.#alone;
      await awaited;
    }
    this.#sharing += 1;
    try {
      return await work();
    } finally {
      this.#sharing -= 1;
      if (this.#sharing === 0) this.#idle.resolve();
    }
  }

  /** Runs once all shared work has ended, while none begins. Must not be called from within shared work. */
  alone<Result>(work: () => Promise<Result>): Promise<Result> {
    const before = this.#alone;
    const result = before.then(async () => {
      this.#idle = Promise.withResolvers<void>();
      if (this.#sharing > 0) await this.#idle.promise;
      return work();
    });
    this.#alone = result.catch(() => undefined);
    return result;
  }
}
