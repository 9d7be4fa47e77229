/** The Registration Data Access Protocol for the names that are with us (RFC 9082, RFC 9083): behind a setting. */
import type { Database } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { TextReply } from '../../../kernel/http/reply.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { normalizeName } from '../../names/normalize-name.ts';
import { BASE_PATH, open } from '../../operation.ts';
import { answer, rdapErrors, selfLink } from './answers.ts';
import { findPublished } from './find-published.ts';
import { registrarNotices } from './notices.ts';
import type { RdapIdentity } from './registrar-identity.ts';
import { meetsProfile, renderDomain } from './render-domain.ts';
import { renderRegistrar } from './render-entities.ts';

export interface RdapDependencies {
  readonly db: Database;
  readonly registrar: RdapIdentity;
  readonly nameservers: readonly string[];
  /** Without the base path. */
  readonly publicUrl: string;
}

const PATH = `${BASE_PATH}/rdap`;
const shared = { method: 'GET', posture: 'public', errorDialect: rdapErrors, answers: ['rdap'] } as const;
const text = Type.String({ minLength: 1, maxLength: 1_000 });

export function rdapOperations({ db, nameservers, publicUrl, registrar }: RdapDependencies) {
  const baseUrl = `${publicUrl}${PATH}`;
  return [
    open.read({
      ...shared,
      id: 'rdap.domain',
      path: `${PATH}/domain/{name}`,
      summary: 'Look a name of this registrar up',
      description:
        'Names that are with other registrars are not found here. What a registrant keeps private is told by `redacted` (RFC 9537).',
      errors: ['not_found', 'bad_request'],
      params: Type.Object({ name: text }),
      async handler({ params }): Promise<TextReply> {
        const { ascii: name } = normalizeName(params.name, 'name');
        const found = await findPublished(db, name);
        if (found === undefined) throw notFound(`${name} is not with this registrar.`);
        const content = renderDomain(found, { askedName: params.name, baseUrl, registrar });
        return answer(content, { meetsProfile: meetsProfile(found, registrar) });
      },
    }),
    open.read({
      ...shared,
      id: 'rdap.nameserver',
      path: `${PATH}/nameserver/{name}`,
      summary: 'Look a nameserver of this registrar up',
      errors: ['not_found'],
      params: Type.Object({ name: text }),
      async handler({ params }): Promise<TextReply> {
        const ldhName = params.name.toLowerCase().replace(/\.$/, '');
        if (!nameservers.includes(ldhName)) throw notFound(`${ldhName} is no nameserver of this registrar.`);
        const address = `${baseUrl}/nameserver/${ldhName}`;
        const links = [selfLink(address)];
        const notices = registrarNotices(registrar, address);
        return answer({ objectClassName: 'nameserver', ldhName, status: ['active'], links, notices });
      },
    }),
    open.read({
      ...shared,
      id: 'rdap.entity',
      path: `${PATH}/entity/{handle}`,
      summary: 'Look this registrar up, by its IANA number',
      errors: ['not_found'],
      params: Type.Object({ handle: text }),
      async handler({ params: { handle } }): Promise<TextReply> {
        if (handle !== String(registrar.iana_id))
          throw notFound('There is no such entity here; registrants are not looked up.');
        const notices = registrarNotices(registrar, `${baseUrl}/entity/${handle}`);
        return answer({ ...renderRegistrar(registrar, baseUrl), notices });
      },
    }),
    open.read({
      ...shared,
      id: 'rdap.help',
      path: `${PATH}/help`,
      summary: 'What can be looked up',
      async handler(): Promise<TextReply> {
        const title = 'RDAP of a registrar';
        const description = [
          `${registrar.name} answers for names that are with it: domain/NAME, nameserver/NAME for its own, and entity/ID for itself.`,
          'There is no search, and no other registrar’s name.',
        ];
        const address = `${baseUrl}/help`;
        const notices = [{ title, description, links: [selfLink(address)] }, ...registrarNotices(registrar, address)];
        return answer({ notices }, { meetsProfile: registrar.icann_profile === true });
      },
    }),
  ];
}

function notFound(message: string): ApiError {
  return new ApiError('not_found', { message });
}
