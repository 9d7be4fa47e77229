import type { Static } from 'typebox';
import { closedObject, component, nullable, oneOf, timestamp } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { contactMembers } from '../accounts/index.ts';

const { organization, street, city, region, postal_code, country, phone } = contactMembers;

const STATES = `Whether the e-mail address is confirmed:
- \`not_required\`: no domain of the workspace demands it.
- \`waiting\`: a message with a link was sent, or is about to be; domains are suspended at \`suspends_at\`.
- \`overdue\`: it was not confirmed in time. Domains are suspended (\`suspended_for\`) until it is.
- \`verified\``;

export const Verification = component(
  'RegistrantVerification',
  Type.Object({
    state: oneOf(['not_required', 'waiting', 'overdue', 'verified'], { description: STATES }),
    asked_at: nullable(timestamp()),
    mailed_at: nullable(timestamp(), { description: 'When the mail server took the last message.' }),
    mail_problem: nullable(Type.String(), { description: 'Why the last message was not sent, where it was not.' }),
    suspends_at: nullable(timestamp(), {
      description:
        'Fifteen days after the first message; null while none was sent. Domains that came later have fifteen days of their own.',
    }),
    verified_at: nullable(timestamp()),
  }),
);
export type Verification = Static<typeof Verification>;

export const VerificationCode = component(
  'RegistrantVerificationCode',
  closedObject({
    code: Type.String({ minLength: 1, maxLength: 100, description: 'What stands behind `#` in the link.' }),
  }),
);
export type VerificationCode = Static<typeof VerificationCode>;

export const VerificationDone = component(
  'RegistrantVerified',
  Type.Object({ status: oneOf(['Verified'], { description: 'Suspended domains work again within minutes.' }) }),
);
export type VerificationDone = Static<typeof VerificationDone>;

export const ConsentGiven = component(
  'RegistrantConsent',
  Type.Object({
    status: oneOf(['Consented', 'Changed'], { description: '`Consented`: the other side has to consent, too.' }),
  }),
);
export type ConsentGiven = Static<typeof ConsentGiven>;

const WaitingChange = component(
  'RegistrantChangeWaiting',
  Type.Object({
    name: Type.String(),
    organization: nullable(Type.String()),
    email: Type.String(),
    asked_at: timestamp(),
    expires_at: timestamp({ description: 'It is dropped then.' }),
    consents: Type.Object({
      present: nullable(timestamp(), { description: 'Of who is the registrant now.' }),
      next: nullable(timestamp(), { description: 'Of who is to be.' }),
    }),
    transfer_lock: Type.Boolean(),
  }),
);
export type WaitingChange = Static<typeof WaitingChange>;

const AGENT_STATES = `Whether the registrar consents to changes for the registrant, as the designated agent:
- \`none\`: nobody has asked for it, or the link was not used in time.
- \`asked\`: a message with a link was sent, or is about to be.
- \`given\`: another name or organization is so at once, and is told by mail afterwards.
- \`withdrawn\``;

const DesignatedAgent = component(
  'DesignatedAgent',
  Type.Object({
    offered: Type.Boolean({
      description: 'Whether there are TLDs whose changes the registrar consents to for who has authorized it.',
    }),
    state: oneOf(['none', 'asked', 'given', 'withdrawn'], { description: AGENT_STATES }),
    asked_at: nullable(timestamp()),
    given_at: nullable(timestamp()),
    withdrawn_at: nullable(timestamp()),
  }),
);
export type DesignatedAgent = Static<typeof DesignatedAgent>;

export const AgentAuthorized = component('DesignatedAgentAuthorized', Type.Object({ status: oneOf(['Given']) }));
export type AgentAuthorized = Static<typeof AgentAuthorized>;

export const Registrant = component(
  'Registrant',
  Type.Object({
    name: Type.String(),
    email: Type.String({ description: 'Where auth codes, links and notices are mailed to.' }),
    contact: Type.Object({
      organization: nullable(organization),
      street: nullable(street),
      city: nullable(city),
      region: nullable(region),
      postal_code: nullable(postal_code),
      country: nullable(country),
      phone: nullable(phone),
    }),
    missing: Type.Array(Type.String(), {
      description:
        'Members of `contact` that the registry requires and does not have yet: a registration is refused until then.',
    }),
    verification: Verification,
    change: nullable(WaitingChange, { description: 'A change that waits for consents; null: none does.' }),
    designated_agent: DesignatedAgent,
  }),
);
export type Registrant = Static<typeof Registrant>;

export const RegistrantChange = component(
  'RegistrantChange',
  closedObject(
    {
      name: Type.Optional(Type.String({ minLength: 1, maxLength: 200, pattern: '\\S' })),
      email: Type.Optional(
        Type.String({
          minLength: 3,
          maxLength: 400,
          description: 'Always waits for the consent of both: what it is good for is mailed to this address.',
        }),
      ),
      transfer_lock: Type.Optional(
        Type.Boolean({
          description:
            'Of a change that waits for consents: whether domains are locked against transfers afterwards, where their TLD locks them; true unless it is false.',
        }),
      ),
      contact: Type.Optional(
        closedObject(
          {
            organization: Type.Optional(nullable(organization)),
            street: Type.Optional(nullable(street)),
            city: Type.Optional(nullable(city)),
            region: Type.Optional(nullable(region)),
            postal_code: Type.Optional(nullable(postal_code)),
            country: Type.Optional(nullable(country)),
            phone: Type.Optional(nullable(phone)),
          },
          { minProperties: 1, description: 'What is absent stays as it is; null removes it.' },
        ),
      ),
    },
    { minProperties: 1 },
  ),
);
export type RegistrantChange = Static<typeof RegistrantChange>;
