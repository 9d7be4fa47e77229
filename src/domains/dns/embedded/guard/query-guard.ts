/** Who is answered by UDP: those who show a valid cookie always, others within the limits. */
import type { Clock } from '../../../../kernel/clock/clock.ts';
import type { Metrics } from '../../../../kernel/metrics/metrics.ts';
import type { ZoneAnswer } from '../answer-query.ts';
import { type Query, rcodes } from '../read-query.ts';
import type { Transport } from '../write-response.ts';
import type { Network } from './client-address.ts';
import type { CookieSecrets } from './cookie-secrets.ts';
import { Cookies } from './cookies.ts';
import { type CookieKind, type Outcome, QueryCounts } from './query-counts.ts';
import { type AnswerClass, answerClasses, type RateVerdict, ResponseRate } from './response-rate.ts';

export interface QueryGuardOptions {
  readonly clock: Clock;
  readonly cookieSecrets: CookieSecrets;
  /** Answers a second by UDP for one network, see response-rate.ts; 0: no limit. Default 200. */
  readonly responsesPerSecond?: number;
  /** Those of one class. Default: as many as in all. */
  readonly sameResponsesPerSecond?: number;
  /** Default 2. */
  readonly slip?: number;
  readonly exempt?: readonly Network[];
  readonly metrics?: Metrics;
}

export interface Asker {
  readonly transport: Transport;
  readonly address: string;
  readonly cookie: CookieKind;
}

export class QueryGuard {
  readonly #cookies: Cookies;
  readonly #rate: ResponseRate;
  readonly #counts: QueryCounts;

  constructor(options: QueryGuardOptions) {
    const { clock, cookieSecrets: secrets, responsesPerSecond: perSecond = 200, slip = 2, exempt = [] } = options;
    const perSecondOfClass = options.sameResponsesPerSecond ?? perSecond;
    this.#cookies = new Cookies({ clock, secrets });
    this.#rate = new ResponseRate({ clock, perSecond, perSecondOfClass, slip, exempt });
    this.#counts = new QueryCounts(options.metrics);
  }

  /** `given` is what the query's COOKIE option has. */
  meet(given: Buffer | undefined, address: string, transport: Transport): Asker {
    const cookie = given === undefined ? 'none' : this.#cookies.judge(given, address);
    this.#counts.countCookie(cookie);
    return { transport, address, cookie };
  }

  /** Before an answer is looked for. */
  judgeNetwork({ transport, address, cookie }: Asker): RateVerdict {
    return transport === 'tcp' || cookie === 'valid' ? 'answer' : this.#rate.judgeNetwork(address);
  }

  judgeAnswer({ transport, address, cookie }: Asker, type: number, answer: ZoneAnswer): RateVerdict {
    if (transport === 'tcp' || cookie === 'valid') return 'answer';
    const answerClass = classOf(answer);
    return this.#rate.judgeAnswer(
      address,
      answerClass,
      answer.rateName,
      answerClass === answerClasses.positive ? type : 0,
    );
  }

  /** What the answer tells; undefined where the client does not use cookies. */
  cookieFor({ edns }: Query, { cookie, address }: Asker): Buffer | undefined {
    if (edns?.cookie === undefined || cookie === 'none') return undefined;
    return this.#cookies.make(edns.cookie, cookie, address);
  }

  count(outcome: Outcome, { transport }: Asker): void {
    if (transport === 'udp') this.#counts.count(outcome);
  }
}

function classOf({ rcode, answers, authorities, isAuthoritative }: ZoneAnswer): AnswerClass {
  if (rcode === rcodes.nameError) return answerClasses.noName;
  if (rcode !== rcodes.ok) return answerClasses.error;
  if (answers.length > 0) return answerClasses.positive;
  return authorities.length > 0 && !isAuthoritative ? answerClasses.referral : answerClasses.noData;
}
