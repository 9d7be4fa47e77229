/**
 * An authoritative nameserver inside the service: it answers from our rows, so that publishing a zone is no more than
 * invalidating what is cached of it. For one machine, for tests and for trying out; it does not sign.
 */
import type { Clock } from '../../../kernel/clock/clock.ts';
import type { Database } from '../../../kernel/db/database.ts';
import type { ZonePublisher } from '../publisher.ts';
import { ZONE_CHANGED } from '../zone-store.ts';
import { answerQuery } from './answer-query.ts';
import { CLASS_IN, types } from './encode-set.ts';
import { type Listeners, listen } from './listeners.ts';
import { type Query, rcodes, readQuery } from './read-query.ts';
import { ResponseRate } from './response-rate.ts';
import { codeOnly, isReadable, type Transport, writeRefusal, writeResponse, writeTruncated } from './write-response.ts';
import { ZoneCache, ZoneCacheBusy, type ZoneCacheOptions } from './zone-cache.ts';
import type { ZoneTree } from './zone-tree.ts';

export interface EmbeddedPublisherOptions extends ZoneCacheOptions {
  readonly db: Database;
  /** The service's own, lower case: the NS records of every zone. */
  readonly nameservers: readonly string[];
  readonly host: string;
  /** UDP and TCP. 0: any free one. */
  readonly port: number;
  readonly clock: Clock;
  readonly logger: { error(fields: object, message: string): void };
  /** Answers a second by UDP for one network, see response-rate.ts. Default 200. */
  readonly responsesPerSecond?: number;
  readonly idleTimeoutMs?: number;
  readonly connectionLimit?: number;
}

export interface EmbeddedPublisher extends ZonePublisher {
  readonly kind: 'embedded';
  /** Once started. */
  readonly port: number;
}

export function createEmbeddedPublisher(options: EmbeddedPublisherOptions): EmbeddedPublisher {
  return new EmbeddedServer(options);
}

class EmbeddedServer implements EmbeddedPublisher {
  readonly kind = 'embedded';
  readonly supportsDnssec = false;
  readonly #options: EmbeddedPublisherOptions;
  readonly #cache: ZoneCache;
  readonly #rate: ResponseRate;
  #listeners: Listeners | undefined;
  #unlisten: (() => Promise<void>) | undefined;

  constructor(options: EmbeddedPublisherOptions) {
    this.#options = options;
    this.#cache = new ZoneCache(options);
    this.#rate = new ResponseRate({ clock: options.clock, perSecond: options.responsesPerSecond ?? 200 });
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
        answerUdp: (message, address) => this.#answerUdp(message, address),
        answerTcp: (message) => this.#answer(message, 'tcp'),
        onError: (error) => logger.error({ err: error }, 'the nameserver failed at a socket'),
      });
    } catch (error) {
      await this.#unlisten();
      throw error;
    }
  }

  async stop(): Promise<void> {
    await Promise.all([this.#listeners?.close(), this.#unlisten?.()]);
    this.#listeners = undefined;
    this.#cache.clear();
  }

  #answerUdp(message: Buffer, address: string): Buffer | undefined | Promise<Buffer | undefined> {
    const verdict = this.#rate.judge(address);
    if (verdict === 'drop') return undefined;
    if (verdict === 'answer') return this.#answer(message, 'udp');
    const query = readQuery(message);
    return query !== undefined && isReadable(query) ? writeTruncated(query, codeOnly(rcodes.ok)) : undefined;
  }

  #answer(message: Buffer, transport: Transport): Buffer | undefined | Promise<Buffer | undefined> {
    const query = readQuery(message);
    if (query === undefined) return undefined;
    if (!isReadable(query)) return writeRefusal(query);
    const refusal = refusalOf(query);
    if (refusal !== undefined) return writeResponse(query, codeOnly(refusal), transport);
    const zone = this.#cache.find(query.name);
    if (zone instanceof Promise) return this.#answerLater(query, zone, transport);
    return answerFrom(query, zone, transport);
  }

  async #answerLater(
    query: Query,
    zone: Promise<ZoneTree | undefined>,
    transport: Transport,
  ): Promise<Buffer | undefined> {
    try {
      return answerFrom(query, await zone, transport);
    } catch (error) {
      if (!(error instanceof ZoneCacheBusy)) {
        this.#options.logger.error({ err: error, name: query.name }, 'a zone could not be read');
      }
      return writeResponse(query, codeOnly(rcodes.serverFailure), transport);
    }
  }
}

function answerFrom(query: Query, zone: ZoneTree | undefined, transport: Transport): Buffer {
  const answer = zone === undefined ? codeOnly(rcodes.refused) : answerQuery(zone, query.name, query.type);
  return writeResponse(query, answer, transport);
}

/** What is refused whatever the name is. */
function refusalOf({ edns, type, class: queryClass }: Query): number | undefined {
  if (edns !== undefined && edns.version !== 0) return rcodes.badVersion;
  if (queryClass !== CLASS_IN || type === types.AXFR || type === types.IXFR) return rcodes.refused;
  // Of the types that are questions only (RFC 6895 3.1) ANY has an answer.
  const isQuestionOnly = type === 0 || type === types.OPT || (type >= 128 && type <= 255);
  return isQuestionOnly && type !== types.ANY ? rcodes.notImplemented : undefined;
}
