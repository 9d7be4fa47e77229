/** The clearinghouse's service of notices (CNIS, RFC 9361 6.3): one document a lookup key, over HTTPS, with a name and a password. */
import { abortAfter } from '../../../kernel/clock/timers.ts';
import { type Outbound, OutboundError, readCapped } from '../../../kernel/outbound/outbound.ts';
import { type NoticeService, NoticeUnavailable } from '../claims-notices.ts';
import { EppFault } from '../epp/epp-fault.ts';
import { XmlError } from '../epp/xml/parse-xml.ts';
import { readNotice } from './read-notice.ts';

export interface NoticeServiceOptions {
  /** What stands before the lookup key. */
  readonly url: string;
  readonly user: string;
  /** Read at each call, so that it can change. */
  readonly password: () => Promise<string>;
  readonly outbound: Pick<Outbound, 'fetch'>;
  /** From the first look-up to the last byte. */
  readonly deadlineMs?: number;
}

const DEADLINE_MS = 10_000;
const MAX_BYTES = 1_048_576;
const NO_NOTICE = '1970010100/0/0/0/0';
/** A date, places of a tree, and a random part (RFC 9361 6.3.1): nothing that leads elsewhere. */
const LOOKUP_KEY = /^[A-Za-z0-9_-]{1,64}(?:\/[A-Za-z0-9_-]{1,64}){0,8}$/;

export function openNoticeService(options: NoticeServiceOptions): NoticeService {
  return {
    async fetchNotice(lookupKey) {
      if (!LOOKUP_KEY.test(lookupKey)) throw new NoticeUnavailable('the registry told a lookup key that is none');
      return look(options, lookupKey, (status, body) => {
        if (status !== 200) throw new NoticeUnavailable(`it answered with status ${status}`);
        return readNotice(body);
      });
    },
  };
}

/** Whether it takes the name and the password: it is asked for a notice that nobody has. Throws `NoticeUnavailable`. */
export async function tryNoticeService(options: NoticeServiceOptions): Promise<void> {
  await look(options, NO_NOTICE, (status) => {
    if (status !== 200 && status !== 404) throw new NoticeUnavailable(`it answered with status ${status}`);
  });
}

async function look<Found>(
  { deadlineMs = DEADLINE_MS, outbound, password, url, user }: NoticeServiceOptions,
  lookupKey: string,
  read: (status: number, body: Uint8Array) => Found,
): Promise<Found> {
  // The operator named the address: it may be in a network of its own.
  const fetch = outbound.fetch('private', { httpsOnly: true, maxRedirects: 0 });
  const deadline = abortAfter(deadlineMs);
  try {
    const credential = Buffer.from(`${user}:${await password()}`).toString('base64');
    const response = await fetch(`${url}/${lookupKey}.xml`, {
      headers: { authorization: `Basic ${credential}`, accept: 'application/xml, text/xml' },
      redirect: 'manual',
      signal: deadline,
    });
    const body = await readCapped(response, MAX_BYTES);
    return read(response.status, body);
  } catch (error) {
    throw explain(error, deadline.aborted ? deadlineMs : undefined);
  }
}

function explain(error: unknown, deadlineMs: number | undefined): unknown {
  if (error instanceof NoticeUnavailable) return error;
  if (deadlineMs !== undefined) return new NoticeUnavailable(`no whole answer within ${deadlineMs / 1_000} s`, error);
  if (error instanceof XmlError || error instanceof EppFault) {
    return new NoticeUnavailable(`its document is no notice: ${error.message}`, error);
  }
  if (error instanceof OutboundError) return new NoticeUnavailable(error.message, error);
  // As `fetch` throws where the network fails.
  return error instanceof Error ? new NoticeUnavailable(`it cannot be reached: ${error.message}`, error) : error;
}
