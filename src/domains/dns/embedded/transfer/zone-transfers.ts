/** What secondaries ask: zones as a whole (AXFR; IXFR is answered so too) and how new they are. And signed messages of anybody. */
import pLimit from 'p-limit';
import type { Clock } from '../../../../kernel/clock/clock.ts';
import type { Database } from '../../../../kernel/db/database.ts';
import { ownRecordSets } from '../../zone-content.ts';
import { findZone } from '../../zone-store.ts';
import type { ZoneAnswer } from '../answer-query.ts';
import { CLASS_IN, encodeSet, types } from '../encode-set.ts';
import type { Asker } from '../guard/query-guard.ts';
import { type Query, rcodes } from '../read-query.ts';
import { codeOnly } from '../write-response.ts';
import { createNotifier, type Notifier, type NotifyTiming } from './notifier.ts';
import { Secondaries, type SecondaryOptions } from './secondaries.ts';
import { readKnownSerial, readWholeZone, writeTransfer } from './transfer-zone.ts';
import { checkTsig, signAnswers, tsigErrors } from './tsig.ts';

export interface ZoneTransferOptions {
  readonly db: Database;
  readonly clock: Clock;
  readonly host: string;
  readonly nameservers: readonly string[];
  readonly secondaries?: readonly SecondaryOptions[];
  readonly notifyTiming?: NotifyTiming;
  readonly logger: { error(fields: object, message: string): void };
}

interface SecondaryAnswer {
  /** Undefined: what anybody is answered. */
  readonly answer: ZoneAnswer | readonly Buffer[] | undefined;
  sign(messages: readonly Buffer[]): readonly Buffer[];
}

/** Zones that are transferred at a time. */
const CONCURRENCY = 4;

export class ZoneTransfers {
  readonly #options: ZoneTransferOptions;
  readonly #secondaries: Secondaries;
  readonly #limit = pLimit(CONCURRENCY);
  readonly #notifier: Notifier | undefined;

  constructor(options: ZoneTransferOptions) {
    this.#options = options;
    this.#secondaries = new Secondaries(options.secondaries ?? []);
    const { notified: secondaries } = this.#secondaries;
    const { notifyTiming } = options;
    const timing = notifyTiming === undefined ? {} : { timing: notifyTiming };
    this.#notifier = secondaries.length === 0 ? undefined : createNotifier({ ...options, ...timing, secondaries });
  }

  async start(): Promise<void> {
    await this.#notifier?.start();
  }

  async stop(): Promise<void> {
    await this.#notifier?.stop();
  }

  /** Whether `answer` is to be asked; of all other queries nothing is different here. */
  concerns({ tsigAt, type }: Query): boolean {
    return tsigAt !== undefined || (this.#secondaries.isEmpty ? false : isTransfer(type) || type === types.SOA);
  }

  /** Rejects with the store's errors. */
  async answer(message: Buffer, query: Query, asker: Asker): Promise<SecondaryAnswer> {
    const nowSeconds = Math.floor(this.#options.clock.now().getTime() / 1_000);
    const { tsigAt } = query;
    if (tsigAt === undefined) return { answer: await this.#answerAllowed(message, query, asker), sign: asItIs };
    const tsig = checkTsig(message, tsigAt, this.#secondaries.keys, nowSeconds);
    if (tsig === undefined) return { answer: codeOnly(rcodes.formatError), sign: asItIs };
    const sign = (messages: readonly Buffer[]) => signAnswers(messages, tsig, nowSeconds);
    if (tsig.error !== tsigErrors.none) return { answer: codeOnly(rcodes.notAuthoritative), sign };
    return { answer: await this.#answerAllowed(message, query, asker, tsig.key), sign };
  }

  async #answerAllowed(
    message: Buffer,
    query: Query,
    { transport, address }: Asker,
    key?: Parameters<Secondaries['allow']>[1],
  ): Promise<ZoneAnswer | readonly Buffer[] | undefined> {
    const { type, name } = query;
    const isWhole = isTransfer(type);
    if (query.class !== CLASS_IN || (!isWhole && type !== types.SOA)) return undefined;
    if (!this.#secondaries.allow(address, key) || (type === types.AXFR && transport === 'udp')) return undefined;
    const serial = await this.#readSerial(name);
    if (serial === undefined) return isWhole ? codeOnly(rcodes.notAuthoritative) : undefined;
    const known = type === types.IXFR ? readKnownSerial(message, query) : undefined;
    // RFC 1995 2: who has this serial has all, and who asks by UDP is to ask again by TCP. Serials wrap around (RFC 1982).
    const isKnown = known !== undefined && ((known - serial) | 0) >= 0;
    if (!isWhole || transport === 'udp' || isKnown) return this.#soaAnswer(name, serial);
    const { db, nameservers } = this.#options;
    const content = await this.#limit(() => readWholeZone(db, name, nameservers));
    return content === undefined ? codeOnly(rcodes.notAuthoritative) : writeTransfer(query, content);
  }

  /** From the store: what is cached may be older than what the secondary was told of. */
  async #readSerial(name: string): Promise<number | undefined> {
    const zone = await findZone(this.#options.db, name);
    return zone === undefined || zone.isClosed || zone.isWithdrawn ? undefined : zone.serial;
  }

  #soaAnswer(name: string, serial: number): ZoneAnswer {
    const sets = ownRecordSets(name, serial, this.#options.nameservers).filter(({ type }) => type === 'SOA');
    const answers = sets.map((set) => ({ owner: name, set: encodeSet(set) }));
    return { ...codeOnly(rcodes.ok), isAuthoritative: true, answers, rateName: name };
  }
}

function isTransfer(type: number): boolean {
  return type === types.AXFR || type === types.IXFR;
}

function asItIs(messages: readonly Buffer[]): readonly Buffer[] {
  return messages;
}
