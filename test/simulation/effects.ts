/**
 * The effects of one replica: every call that leaves it for a port (database, outbound HTTP, registry, mail …). The ports hold each effect until
 * the replica does nothing else, and carry out one at a time, the oldest first: so their order is the same in every run, and an effect is known by its number.
 *
 *   called ─▶ held ─▶ under way ─▶ done ─▶ the replica hears of it
 *                  ▲             ▲
 *             crash before   crash after
 *
 * From the crash on every call is refused, those of `catch` and `finally` handlers, of timers and of late promises too: nothing reaches a port.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';

export type Moment = 'before' | 'after' | 'stalled';

/** `stalled`: the replica stands still before the effect until it is resumed, while another takes over, and then goes on. */
export interface Interruption {
  readonly number: number;
  readonly moment: Moment;
}

export interface Effect {
  readonly label: string;
  /** Whether anything outside of the replica may differ once it is done. A statement in a transaction changes nothing, its commit does. */
  readonly isChange: boolean;
  /** Whether a transaction was open: a replica that stands still there keeps rows locked until the database rolls back. */
  readonly isInTransaction: boolean;
}

export interface HeldEffect {
  readonly label: string;
  readonly isChange?: boolean;
  /** The transaction that it begins. */
  readonly begins?: object;
  /** The transaction that it is a statement of, or its commit. Default: that in which it is called, by `runInTransaction`. */
  readonly transaction?: object;
}

/** To be called once the effect is done, before the replica hears of it; throws where the replica has crashed. */
export type Done = () => void;

/** What every call of a crashed replica rejects with. */
export class ReplicaCrashed extends Error {
  constructor() {
    super('this replica has crashed: nothing that it does has an effect');
    this.name = 'ReplicaCrashed';
  }
}

/** Which of the effects that wait is next; default: the oldest. */
export type ChooseNext = (labels: readonly string[]) => number;

export interface EffectsOptions {
  readonly chooseNext?: ChooseNext;
  /**
   * Transactions may be open at the same time: how many statements wait for a lock in the database now. One that does is left under way, and
   * the next effect goes on. Absent: one transaction at a time.
   */
  readonly countLockWaits?: () => Promise<number>;
}

/** Promise callbacks, `setImmediate` and answers that have arrived are over after so many turns of the event loop. */
const QUIET_TURNS = 3;
/** A loop that repeats what is refused would never end: from so many refusals on, calls stay pending. */
const REFUSALS_MAX = 2_000;

interface Waiting extends HeldEffect {
  readonly grant: (done: Done) => void;
  readonly refuse: (error: Error) => void;
}

export class Effects {
  /** Those since `arm`, in their order. */
  readonly log: Effect[] = [];
  /** The calls that were refused after the crash. */
  readonly refused: string[] = [];
  /** Rejects at the crash. */
  readonly crashed: Promise<never>;
  /** Resolves when the replica stands still. */
  readonly stalled: Promise<void>;
  readonly #chooseNext: ChooseNext | undefined;
  readonly #countLockWaits: (() => Promise<number>) | undefined;
  /** Statements that wait for a lock. */
  #blocked = 0;
  readonly #context = new AsyncLocalStorage<object>();
  readonly #outside = AsyncLocalStorage.snapshot();
  readonly #crash: PromiseWithResolvers<never>;
  readonly #stall = Promise.withResolvers<void>();
  readonly #resumption = Promise.withResolvers<void>();
  readonly #ends = new Set<() => void>();
  #interruption: Interruption | undefined;
  #isArmed = false;
  #isDead = false;
  #waiting: Waiting[] = [];
  #isPumping = false;
  #underWay = 0;
  #transaction: object | undefined;
  #inTransit = 0;
  #arrivals = 0;
  /** Of `idle`, while it waits: what is under way has ended, or another part of it. */
  #progress: PromiseWithResolvers<void> | undefined;

  constructor({ chooseNext, countLockWaits }: EffectsOptions = {}) {
    this.#chooseNext = chooseNext;
    this.#countLockWaits = countLockWaits;
    this.#crash = Promise.withResolvers<never>();
    this.crashed = this.#crash.promise;
    // Whoever races against it hears of it; nobody has to.
    this.crashed.catch(() => undefined);
    this.stalled = this.#stall.promise;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  /** Effects that wait for their turn. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Effects are numbered from here on. */
  arm(interruption?: Interruption): void {
    this.#isArmed = true;
    this.#interruption = interruption;
  }

  /** Resolves when it is the effect's turn: whoever called carries it out then. Rejects with `ReplicaCrashed`. */
  hold(effect: HeldEffect): Promise<Done> {
    if (this.#isDead) return this.#refuse(effect.label);
    const { promise, resolve, reject } = Promise.withResolvers<Done>();
    const transaction = effect.transaction ?? this.#context.getStore();
    this.#waiting.push({
      ...effect,
      ...(transaction === undefined ? {} : { transaction }),
      grant: resolve,
      refuse: reject,
    });
    this.#arrivals += 1;
    this.#wake();
    return promise;
  }

  /** Holds it, carries it out, and hands on what comes of it unless the replica has crashed meanwhile. */
  async perform<Value>(effect: HeldEffect, act: () => Promise<Value>): Promise<Value> {
    const done = await this.hold(effect);
    try {
      return await act();
    } finally {
      done();
    }
  }

  /** Of what waits while the transaction is open, what `work` calls alone goes on: one connection may be all that the database has. */
  runInTransaction<Value>(transaction: object, work: () => Promise<Value>): Promise<Value> {
    return this.#context.run(transaction, work);
  }

  closeTransaction(transaction: object): void {
    if (this.#transaction === transaction) this.#transaction = undefined;
    this.#wake();
  }

  /** A call is on its way to where its effects are held, as those of a package that has sockets of its own: no other effect goes first meanwhile. */
  enterTransit(): void {
    this.#inTransit += 1;
  }

  leaveTransit(): void {
    this.#inTransit -= 1;
    this.#wake();
    this.#noteProgress();
  }

  /** Called at the crash, at once. */
  onCrash(end: () => void): void {
    if (this.#isDead) end();
    else this.#ends.add(end);
  }

  /** Now, whatever is under way. Nothing where it has crashed already. */
  crash(): void {
    if (this.#isDead) return;
    this.#isDead = true;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const end of this.#ends) end();
    this.#crash.reject(new ReplicaCrashed());
    for (const { refuse } of waiting) refuse(new ReplicaCrashed());
    this.#resumption.resolve();
    this.#noteProgress();
  }

  /** After a stall. */
  resume(): void {
    this.#resumption.resolve();
  }

  /** Resolves when the replica has nothing under way, or has crashed or stands still, and its handlers have run. */
  async idle(): Promise<void> {
    const isBusy = () =>
      !this.#isDead && (this.#waiting.length > 0 || this.#underWay > 0 || this.#inTransit > 0 || this.#isPumping);
    for (let turns = 0; turns < 2 * QUIET_TURNS; turns += 1) {
      await nextTurn();
      if (!isBusy()) continue;
      turns = -1;
      this.#progress ??= Promise.withResolvers();
      await this.#progress.promise;
    }
  }

  #noteProgress(): void {
    this.#progress?.resolve();
    this.#progress = undefined;
  }

  #refuse(label: string): Promise<Done> {
    this.refused.push(label);
    if (this.refused.length > REFUSALS_MAX) return new Promise(() => undefined);
    return Promise.reject(new ReplicaCrashed());
  }

  /** What it does is nobody's: not of the transaction that its caller has open. */
  #wake(): void {
    if (!this.#isPumping) this.#outside(() => void this.#pump());
  }

  async #pump(): Promise<void> {
    if (this.#isPumping) return;
    this.#isPumping = true;
    while (!this.#isDead && this.#waiting.length > 0) {
      await this.#unblock();
      await this.#becomeQuiet();
      if (this.#inTransit > 0) break;
      const next = this.#takeNext();
      if (next === undefined) break;
      await this.#carryOut(next);
    }
    this.#isPumping = false;
    this.#noteProgress();
  }

  /** What the replica does next because of what it has heard has arrived by then. */
  async #becomeQuiet(): Promise<void> {
    for (let turns = 0; turns < QUIET_TURNS; turns += 1) {
      const before = this.#arrivals;
      await nextTurn();
      if (this.#arrivals !== before) turns = -1;
    }
  }

  #takeNext(): Waiting | undefined {
    const open = this.#transaction;
    const able = this.#waiting.filter(({ transaction }) => open === undefined || transaction === open);
    if (able.length === 0) return undefined;
    // Two that come through sockets arrive in either order.
    const choices = this.#chooseNext === undefined ? able : able.sort((a, b) => a.label.localeCompare(b.label));
    const next = choices[this.#chooseNext?.(choices.map(({ label }) => label)) ?? 0];
    this.#waiting = this.#waiting.filter((one) => one !== next);
    return next;
  }

  async #carryOut({ begins, grant, isChange = true, label, refuse }: Waiting): Promise<void> {
    const isInTransaction = this.#transaction !== undefined;
    const number = this.#isArmed ? this.log.push({ label, isChange, isInTransaction }) : 0;
    const moment = number > 0 && number === this.#interruption?.number ? this.#interruption.moment : undefined;
    if (moment === 'before') {
      this.crash();
      refuse(new ReplicaCrashed());
      return;
    }
    if (moment === 'stalled') {
      this.#stall.resolve();
      await this.#resumption.promise;
      if (this.#isDead) return refuse(new ReplicaCrashed());
    }
    // Begins with it, so that nothing else comes between.
    if (begins !== undefined && this.#countLockWaits === undefined) this.#transaction = begins;
    const over = Promise.withResolvers<void>();
    let isOver = false;
    let isBlocked = false;
    this.#underWay += 1;
    grant(() => {
      if (!isOver) {
        isOver = true;
        this.#underWay -= 1;
        if (isBlocked) this.#blocked -= 1;
        if (moment === 'after') this.crash();
        over.resolve();
        this.#noteProgress();
      }
      if (this.#isDead) throw new ReplicaCrashed();
    });
    isBlocked = await this.#waitUnlessBlocked(over.promise, () => isOver);
  }

  /** True: it waits for a lock, which another transaction has. */
  async #waitUnlessBlocked(over: Promise<void>, isOver: () => boolean): Promise<boolean> {
    const countLockWaits = this.#countLockWaits;
    if (countLockWaits === undefined) {
      await over;
      return false;
    }
    for (;;) {
      await Promise.race([over, nextTurn()]);
      if (isOver()) return false;
      const waits = await countLockWaits();
      if (isOver()) return false;
      if (waits > this.#blocked) {
        this.#blocked += 1;
        return true;
      }
    }
  }

  /** Those whose lock has been given up have gone on by then. */
  async #unblock(): Promise<void> {
    while (this.#blocked > 0 && (await this.#countLockWaits?.()) !== this.#blocked) await nextTurn();
  }
}
