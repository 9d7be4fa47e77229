/** Notices of trademark claims (RFC 9361): what they say, where they come from, and what becomes of one that is accepted. */
import { crc32 } from 'node:zlib';

/** A person or company, as the notice has it. Members that it lacks are absent. */
export interface NoticeParty {
  /** Of a holder: owner, assignee or licensee. Of a contact: owner, agent or thirdparty. */
  readonly role: string;
  readonly name?: string;
  readonly organization?: string;
  readonly street: readonly string[];
  readonly city?: string;
  readonly region?: string;
  readonly postal_code?: string;
  readonly country?: string;
  readonly phone?: string;
  readonly fax?: string;
  readonly email?: string;
}

/** One mark. The members are named as customers are shown them. */
export interface TrademarkClaim {
  readonly mark_name: string;
  /** Where the mark is protected. */
  readonly jurisdiction: { readonly code: string; readonly name: string };
  readonly holders: readonly NoticeParty[];
  readonly contacts: readonly NoticeParty[];
  /** Of the Nice classification. */
  readonly classes: readonly { readonly number: string; readonly description: string }[];
  readonly goods_and_services: string;
  /** Decisions by which the name counts as the mark although it is not the same. */
  readonly decisions: readonly {
    readonly kind: 'court' | 'udrp';
    readonly number: string;
    /** The court, or who decided under the UDRP. */
    readonly decided_by: string;
    readonly country?: string;
  }[];
}

export interface ClaimsNotice {
  readonly id: string;
  /** What stands before the TLD, in punycode. */
  readonly label: string;
  readonly notBefore: Date;
  /** It cannot be accepted afterwards. */
  readonly notAfter: Date;
  readonly claims: readonly TrademarkClaim[];
}

/** Where notices are looked up by the keys that registries tell. */
export interface NoticeService {
  /** Throws `NoticeUnavailable`. */
  fetchNotice(lookupKey: string): Promise<ClaimsNotice>;
}

/** No notice was had: the reason is for the operator. */
export class NoticeUnavailable extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'NoticeUnavailable';
  }
}

/** Who issues notices, as registries are told it (RFC 8334 2.2). */
export const TMCH = 'tmch';

/** What the registry is told of a notice that was accepted. Times are in UTC. */
export interface AcceptedNotice {
  readonly noticeId: string;
  readonly notAfter: string;
  readonly acceptedAt: string;
}

/** An acceptance as it is kept with its order. */
export interface ClaimsAcceptance extends AcceptedNotice {
  /** When it came, and by which token. */
  readonly recordedAt: string;
  readonly tokenId: string;
}

/** An acceptance counts for so long (ICANN's Trademark Clearinghouse rights protection requirements). */
const ACCEPTANCE_MS = 48 * 3_600_000;

/** Whether a registry still takes it. */
export function isAcceptanceLive({ acceptedAt, notAfter }: AcceptedNotice, now: Date): boolean {
  const acceptedMs = Date.parse(acceptedAt);
  return (
    Date.parse(notAfter) > now.getTime() && now.getTime() - acceptedMs < ACCEPTANCE_MS && acceptedMs <= now.getTime()
  );
}

/** Checksum in hex, and the number that the clearinghouse gave. */
const NOTICE_ID = /^([0-9a-f]{8})([0-9]{19})$/i;

/** Whether the notice is of this label and ends then: its id begins with a checksum of both (RFC 9361 6.3.2). */
export function isNoticeOf(label: string, { id, notAfter }: Pick<ClaimsNotice, 'id' | 'notAfter'>): boolean {
  const [, checksum = '', number = ''] = NOTICE_ID.exec(id) ?? [];
  if (checksum === '') return false;
  return Number.parseInt(checksum, 16) === checksumOf(label, notAfter, number);
}

function checksumOf(label: string, notAfter: Date, number: string): number {
  return crc32(`${label}${Math.floor(notAfter.getTime() / 1_000)}${number}`);
}

/** The id of the notice with this number. */
export function noticeIdOf(label: string, notAfter: Date, number: string): string {
  return `${checksumOf(label, notAfter, number).toString(16).padStart(8, '0')}${number}`;
}
