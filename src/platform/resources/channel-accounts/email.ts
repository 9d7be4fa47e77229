import { closedObject, component, failsWith, missingFailsWith, nullable } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { checkEmailAccount, emailDnsRecords, settingOf } from '../../channels/index.ts';
import type { AccountKind } from './account-kind.ts';
import type { AccountDependencies } from './dependencies.ts';

const MAX_DOMAIN_CHARS = 253;
const MAX_URL_CHARS = 2_048;
const MAX_KEY_CHARS = 16_384;

const EmailAccountIn = component(
  'EmailAccountIn',
  closedObject({
    domain: Type.String({
      minLength: 1,
      maxLength: MAX_DOMAIN_CHARS,
      description: 'Its mailboxes are addresses of deployments.',
      ...missingFailsWith('empty_config'),
    }),
    smtp_url: Type.String({
      minLength: 1,
      maxLength: MAX_URL_CHARS,
      description:
        'Where mail goes out: `smtp://user:password@host:587`, with STARTTLS, or `smtps://…`; name and password are percent-encoded. ' +
        'At a server without TLS it ends with `?tls=optional`. A public address, or one that the operator of the server has opened. Never shown again.',
      ...failsWith('invalid_url'),
      ...missingFailsWith('empty_config'),
    }),
    inbound_secret: Type.Optional(
      nullable(Type.String({ minLength: 16, maxLength: 512 }), {
        description:
          'A text of your own, which whoever brings mail to `webhook_url` sends as `X-IC-Inbound-Secret`. Without it no mail is taken there. Never shown again.',
      }),
    ),
    dkim: Type.Optional(
      nullable(
        closedObject({
          selector: Type.String({ pattern: '^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$', maxLength: 63 }),
          private_key: Type.String({
            minLength: 1,
            maxLength: MAX_KEY_CHARS,
            description: 'RSA, in PEM. Never shown again.',
          }),
        }),
        { description: 'What signs the mail. Left out, the domain keeps the key that it has, or gets one.' },
      ),
    ),
  }),
);

const DnsRecord = component(
  'EmailDnsRecord',
  Type.Object({ type: Type.String(), name: Type.String(), value: Type.String() }),
);

export function emailAccount(deps: AccountDependencies): AccountKind<typeof EmailAccountIn> {
  return {
    kind: 'email',
    name: 'mail domain',
    body: EmailAccountIn,
    example: {
      domain: 'agents.example.com',
      smtp_url: 'smtp://user:password@example.com:587',
      inbound_secret: 'a long text of your own',
    },
    description:
      'Replaces the domain, once its DNS has the TXT record that shows whose it is, and its mail server has been greeted and logged in to. ' +
      'Without the record the refusal, `verification_failed`, says which it is. Mail is signed with DKIM: enter all of `dns_records` where ' +
      'the names of the domain are kept.',
    errors: ['empty_config', 'invalid_url', 'verification_failed', 'email_send_failed'],
    shown: {
      name: 'EmailAccount',
      own: {
        domain: nullable(Type.String()),
        smtp_host: nullable(Type.String(), { description: 'Of `smtp_url`, with its port.' }),
        dkim_selector: nullable(Type.String()),
        dns_records: Type.Array(DnsRecord, { description: 'What the domain’s DNS is to say.' }),
      },
    },
    check: (projectId, body) =>
      checkEmailAccount(deps, projectId, {
        domain: body.domain,
        smtpUrl: body.smtp_url,
        inboundSecret: body.inbound_secret ?? undefined,
        dkim: body.dkim == null ? undefined : { selector: body.dkim.selector, privateKey: body.dkim.private_key },
      }),
    // Nothing is registered anywhere.
    disconnect: async () => undefined,
    show: (row, projectId) => ({
      domain: row?.account_id ?? null,
      smtp_host: row === undefined ? null : settingOf(row.settings, 'smtp_host'),
      dkim_selector: row === undefined ? null : settingOf(row.settings, 'dkim_selector'),
      dns_records:
        row === undefined
          ? []
          : emailDnsRecords(deps.config, { projectId, accountId: row.account_id, settings: row.settings }),
      webhook_url: row?.webhook_key_hash == null ? null : `${deps.publicUrl}/v1/email/inbound/${projectId}`,
    }),
  };
}
