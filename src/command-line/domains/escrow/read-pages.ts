/** What is deposited, a page at a time: a portfolio need not fit into memory. */
import type { DomainVerbs } from '../../../domains/operator/index.ts';
import type { AnswerOf, VerbHandlers } from '../../../kernel/operator/index.ts';

export type DepositedDomain = AnswerOf<DomainVerbs, 'escrow_domains'>['domains'][number];
export type DepositedHost = DepositedDomain['hosts'][number];
export type DepositedContact = AnswerOf<DomainVerbs, 'escrow_contacts'>['contacts'][number];

export type EscrowVerbs = Pick<VerbHandlers<DomainVerbs>, 'escrow_domains' | 'escrow_contacts'>;

/** Rows of one call. */
const PAGE = 500;

export async function* readDomains(verbs: EscrowVerbs): AsyncGenerator<readonly DepositedDomain[]> {
  for (let after: string | null = ''; after !== null; ) {
    const page: AnswerOf<DomainVerbs, 'escrow_domains'> = await verbs.escrow_domains({ after, limit: PAGE });
    yield page.domains;
    after = page.next_after;
  }
}

/** Those of every name that was there at `watermark` or since: the names have to be read before. */
export async function* readContacts(verbs: EscrowVerbs, watermark: Date): AsyncGenerator<readonly DepositedContact[]> {
  const since = watermark.toISOString();
  for (let after: string | null = ''; after !== null; ) {
    const page: AnswerOf<DomainVerbs, 'escrow_contacts'> = await verbs.escrow_contacts({ after, since, limit: PAGE });
    yield page.contacts;
    after = page.next_after;
  }
}
