/** What a registrar deposits with a data escrow agent: its names and who holds them. */
import { sql } from 'kysely';
import type { Database } from '../../kernel/db/database.ts';
import type { VerbHandlers } from '../../kernel/operator/index.ts';
import type { RegistryDomain } from '../registry/registry.ts';
import { systemDb } from '../workspace-scope.ts';
import type { DomainVerbs } from './verbs.ts';

/** Bytewise, as deposits are compared with the one before, whatever the database sorts by. */
const inOrder = (column: 'name' | 'id') => sql<string>`${sql.ref(column)} collate "C"`;

/** The registrant of a workspace's names: who signed it up. */
const registrantOfName = sql<string>`(
  select id from domains.users person where person.workspace_id = domains.workspace_id order by created_at, id limit 1
)`;

export function createEscrowVerbs({
  db,
}: {
  readonly db: Database;
}): Pick<VerbHandlers<DomainVerbs>, 'escrow_domains' | 'escrow_contacts'> {
  return {
    async escrow_domains({ after = '', limit }) {
      const rows = await systemDb(db)
        .selectFrom('domains')
        .select(['name', 'snapshot', registrantOfName.as('registrant')])
        .where('state', '=', 'active')
        .where('snapshot', 'is not', null)
        .where(inOrder('name'), '>', after)
        .orderBy(inOrder('name'))
        .limit(limit)
        .execute();
      const domains = rows.flatMap(({ name, registrant, snapshot }) =>
        snapshot === null ? [] : [{ name, registrant, ...renderSnapshot(snapshot) }],
      );
      return { domains, next_after: nextAfter(rows, limit, ({ name }) => name) };
    },
    async escrow_contacts({ after = '', limit, since }) {
      const rows = await systemDb(db)
        .selectFrom('users')
        .select(['id', 'name', 'email', 'contact', 'created_at'])
        .where(inOrder('id'), '>', after)
        .where(({ exists, selectFrom }) =>
          exists(
            selectFrom('domains')
              .select('domains.id')
              .whereRef('domains.workspace_id', '=', 'users.workspace_id')
              .where(({ and, eb, or }) =>
                or([
                  eb('domains.state', '=', 'active'),
                  ...(since === undefined
                    ? []
                    : [and([eb('domains.state', '=', 'gone'), eb('domains.gone_at', '>=', new Date(since))])]),
                ]),
              ),
          ),
        )
        .orderBy(inOrder('id'))
        .limit(limit)
        .execute();
      const contacts = rows.map(({ contact, created_at: createdAt, email, id, name }) => ({
        handle: id,
        created_at: createdAt.toISOString(),
        name,
        organization: contact.organization ?? '',
        street: contact.street ?? '',
        city: contact.city ?? '',
        region: contact.region ?? '',
        postal_code: contact.postal_code ?? '',
        country: contact.country ?? '',
        email,
        phone: contact.phone ?? '',
      }));
      return { contacts, next_after: nextAfter(rows, limit, ({ id }) => id) };
    },
  };
}

function renderSnapshot(snapshot: RegistryDomain) {
  return {
    registry_id: snapshot.registryId,
    statuses: [...snapshot.statuses],
    created_at: snapshot.createdAt ?? null,
    updated_at: snapshot.updatedAt,
    expires_at: snapshot.expiresAt ?? null,
    nameservers: [...snapshot.nameservers],
    hosts: (snapshot.hosts ?? []).map(({ addresses, name }) => ({ name, addresses: [...addresses] })),
    ds_records: snapshot.dsRecords.map(({ algorithm, digest, digestType, keyTag }) => {
      return { key_tag: keyTag, algorithm, digest_type: digestType, digest };
    }),
  };
}

function nextAfter<Row>(rows: readonly Row[], limit: number, keyOf: (row: Row) => string): string | null {
  const last = rows.at(-1);
  return last !== undefined && rows.length === limit ? keyOf(last) : null;
}
