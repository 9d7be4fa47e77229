/**
 * An authoritative nameserver inside the service: it answers from our rows, so that publishing a zone is no more than
 * invalidating what is cached of it. For one machine, for tests and for trying out; it does not sign.
 */
import { randomBytes } from 'node:crypto';
import type { Database } from '../../../kernel/db/database.ts';
import type { ZonePublisher } from '../publisher.ts';
import { ZONE_CHANGED } from '../zone-store.ts';
import { answerQuery, type ZoneAnswer } from './answer-query.ts';
import { CLASS_IN, types } from './encode-set.ts';
import { ConnectionTable } from './guard/connection-table.ts';
import { type CookieSecrets, givenSecrets } from './guard/cookie-secrets.ts';
import { type Asker, QueryGuard, type QueryGuardOptions } from './guard/query-guard.ts';
import { type Listeners, listen } from './listeners.ts';
import { type Query, rcodes, readQuery, type Unreadable } from './read-query.ts';
import type { NotifyTiming } from './transfer/notifier.ts';
import type { SecondaryOptions } from './transfer/secondaries.ts';
import { ZoneTransfers } from './transfer/zone-transfers.ts';
import { codeOnly, isReadable, type Transport, writeRefusal, writeResponse, writeTruncated } from './write-response.ts';
import { ZoneCache, ZoneCacheBusy, type ZoneCacheOptions } from './zone-cache.ts';
import type { ZoneTree } from './zone-tree.ts';

type Reply = Buffer | undefined;
/** By TCP; by UDP there is one message. */
type Replies = Reply | readonly Buffer[];

export interface EmbeddedPublisherOptions extends ZoneCacheOptions, Omit<QueryGuardOptions, 'cookieSecrets'> {
  readonly db: Database;
  /** The service's own, lower case: the NS records of every zone. */
  readonly nameservers: readonly string[];
  readonly host: string;
  /** UDP and TCP. 0: any free one. */
  readonly port: number;
  readonly logger: { error(fields: object, message: string): void };
  /** Shared with the other servers that answer for the same names. Default: of this process alone. */
  readonly cookieSecrets?: CookieSecrets;
  /** Nameservers that copy zones from here. Default: none. */
  readonly secondaries?: readonly SecondaryOptions[];
  readonly notifyTiming?: NotifyTiming;
  readonly idleTimeoutMs?: number;
  /** By TCP, at a time. Default 256. */
  readonly connectionLimit?: number;
}

export interface EmbeddedPublisher extends ZonePublisher {
  readonly kind: 'embedded';
  /** Once started. */
  readonly port: number;
}

/** Of the names of key and algorithm, and a MAC of 64 bytes. */
const TSIG_ROOM = 400;

export function createEmbeddedPublisher(options: EmbeddedPublisherOptions): EmbeddedPublisher {
  return new EmbeddedServer(options);
}

class EmbeddedServer implements EmbeddedPublisher {
  readonly kind = 'embedded';
  readonly supportsDnssec = false;
  readonly #options: EmbeddedPublisherOptions;
  readonly #cache: ZoneCache;
  readonly #guard: QueryGuard;
  readonly #transfers: ZoneTransfers;
  readonly #connectionTable: ConnectionTable;
  #listeners: Listeners | undefined;
  #unlisten: (() => Promise<void>) | undefined;

  constructor(options: EmbeddedPublisherOptions) {
    this.#options = options;
    this.#cache = new ZoneCache(options);
    this.#guard = new QueryGuard({ cookieSecrets: givenSecrets([randomBytes(16)]), ...options });
    this.#transfers = new ZoneTransfers(options);
    const { connectionLimit, metrics } = options;
    this.#connectionTable = new ConnectionTable({
      ...(connectionLimit === undefined ? {} : { limit: connectionLimit }),
      metrics,
    });
  }

  get port(): number {
    if (this.#listeners === undefined) throw new Error('the nameserver is not started');
    return this.#listeners.port;
  }

  async publish({ name }: { readonly name: string }): Promise<void> {
    this.#cache.invalidate(name);
  }

  async remove(zoneName: string): Promise<void> {
    this.#cache.invalidate(zoneName);
  }

  async sign(): Promise<never> {
    throw new Error('the embedded nameserver does not sign zones: publish by PowerDNS for DNSSEC');
  }

  async unsign(): Promise<void> {
    await this.sign();
  }

  async addKey(): Promise<never> {
    return this.sign();
  }

  async retireKeys(): Promise<void> {
    await this.sign();
  }

  async start(): Promise<void> {
    const { db, logger } = this.#options;
    this.#unlisten = await db.listen(
      ZONE_CHANGED,
      (name) => this.#cache.invalidate(name),
      () => this.#cache.clear(),
    );
    try {
      this.#listeners = await listen({
        ...this.#options,
        connectionTable: this.#connectionTable,
        answerUdp: (message, address) => this.#answerMessage(message, address, 'udp'),
        answerTcp: (message, address) => this.#answerMessage(message, address, 'tcp'),
        onError: (error) => logger.error({ err: error }, 'the nameserver failed at a socket'),
      });
    } catch (error) {
      await this.#unlisten();
      throw error;
    }
    await this.#transfers.start();
  }

  async stop(): Promise<void> {
    await Promise.all([this.#listeners?.close(), this.#unlisten?.(), this.#transfers.stop()]);
    this.#listeners = undefined;
    this.#cache.clear();
  }

  #answerMessage(message: Buffer, address: string, transport: Transport): Replies | Promise<Replies> {
    const query = readQuery(message);
    if (query === undefined) return undefined;
    const asker = this.#guard.meet(isReadable(query) ? query.edns?.cookie : undefined, address, transport);
    const verdict = this.#guard.judgeNetwork(asker);
    if (verdict !== 'answer') return this.#limit(query, asker, verdict);
    if (!isReadable(query)) return this.#refuse(query, asker);
    if (this.#transfers.concerns(query)) return this.#answerSecondary(message, query, asker);
    return this.#answer(query, asker);
  }

  /** Signed messages, and questions that secondaries ask. */
  async #answerSecondary(message: Buffer, query: Query, asker: Asker): Promise<Replies> {
    try {
      const { answer, sign } = await this.#transfers.answer(message, query, asker);
      const replies = await this.#repliesTo(query.tsigAt === undefined ? query : withRoomForTsig(query), answer, asker);
      const signed = sign(replies);
      return signed.length > 1 ? signed : signed[0];
    } catch (error) {
      this.#options.logger.error({ err: error, name: query.name }, 'a secondary could not be answered');
      return this.#respond(query, codeOnly(rcodes.serverFailure), asker);
    }
  }

  async #repliesTo(
    query: Query,
    answer: ZoneAnswer | readonly Buffer[] | undefined,
    asker: Asker,
  ): Promise<readonly Buffer[]> {
    if (answer !== undefined && !('rcode' in answer)) return answer;
    const reply = await (answer === undefined ? this.#answer(query, asker) : this.#respond(query, answer, asker));
    return reply === undefined ? [] : [reply];
  }

  #answer(query: Query, asker: Asker): Reply | Promise<Reply> {
    const refusal = refusalOf(query);
    if (refusal !== undefined) return this.#respond(query, codeOnly(refusal), asker);
    const zone = this.#cache.find(query.name);
    if (zone instanceof Promise) return this.#answerLater(query, zone, asker);
    return this.#respond(query, answerFrom(query, zone), asker);
  }

  async #answerLater(query: Query, zone: Promise<ZoneTree | undefined>, asker: Asker): Promise<Reply> {
    try {
      return this.#respond(query, answerFrom(query, await zone), asker);
    } catch (error) {
      if (!(error instanceof ZoneCacheBusy)) {
        this.#options.logger.error({ err: error, name: query.name }, 'a zone could not be read');
      }
      return this.#respond(query, codeOnly(rcodes.serverFailure), asker);
    }
  }

  #refuse(query: Unreadable, asker: Asker): Reply {
    const verdict = this.#guard.judgeAnswer(asker, 0, codeOnly(query.rcode));
    if (verdict !== 'answer') return this.#limit(query, asker, verdict);
    this.#guard.count('answered', asker);
    return writeRefusal(query);
  }

  #respond(query: Query, answer: ZoneAnswer, asker: Asker): Reply {
    const verdict = this.#guard.judgeAnswer(asker, query.type, answer);
    if (verdict !== 'answer') return this.#limit(query, asker, verdict);
    this.#guard.count('answered', asker);
    return writeResponse(query, answer, asker.transport, this.#guard.cookieFor(query, asker));
  }

  /** A client that uses cookies is told one, with which it asks again by UDP (RFC 7873 5.2.3); any other asks again by TCP. */
  #limit(query: Query | Unreadable, asker: Asker, verdict: 'slip' | 'drop'): Reply {
    if (verdict === 'drop' || !isReadable(query)) {
      this.#guard.count('dropped', asker);
      return undefined;
    }
    const cookie = this.#guard.cookieFor(query, asker);
    this.#guard.count(cookie === undefined ? 'truncated' : 'bad_cookie', asker);
    if (cookie === undefined) return writeTruncated(query, codeOnly(rcodes.ok));
    return writeResponse(query, codeOnly(rcodes.badCookie), 'udp', cookie);
  }
}

/** The record that signs the answer takes some of what the client accepts. */
function withRoomForTsig(query: Query): Query {
  const { edns } = query;
  return edns === undefined ? query : { ...query, edns: { ...edns, udpSize: edns.udpSize - TSIG_ROOM } };
}

function answerFrom(query: Query, zone: ZoneTree | undefined): ZoneAnswer {
  return zone === undefined ? codeOnly(rcodes.refused) : answerQuery(zone, query.name, query.type);
}

/** What is refused whatever the name is. */
function refusalOf({ edns, type, class: queryClass }: Query): number | undefined {
  if (edns !== undefined && edns.version !== 0) return rcodes.badVersion;
  if (queryClass !== CLASS_IN || type === types.AXFR || type === types.IXFR) return rcodes.refused;
  // Of the types that are questions only (RFC 6895 3.1) ANY has an answer.
  const isQuestionOnly = type === 0 || type === types.OPT || (type >= 128 && type <= 255);
  return isQuestionOnly && type !== types.ANY ? rcodes.notImplemented : undefined;
}
