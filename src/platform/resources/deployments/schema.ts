/** Where people reach a smith, or an agent with one smith a person. */
import type { Static } from 'typebox';
import { pageQuery } from '../../../kernel/http/paging.ts';
import {
  boundedObject,
  closedObject,
  component,
  failsWith,
  jsonObject,
  nullable,
  oneOf,
  timestamp,
} from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { DEPLOYMENT_KINDS, MAX_TITLE_CHARS } from '../../channels/index.ts';

const MAX_ADDRESS_CHARS = 320;
const MAX_ID_CHARS = 128;
const MAX_METADATA_BYTES = 65_536;
const MAX_SECRETS_BYTES = 65_536;
const MAX_EMAIL_CHARS = 320;

const Target = component(
  'DeploymentTarget',
  closedObject({
    type: oneOf(['smith', 'agent'], {
      description: 'An agent has one smith for each person; whoever comes to a smith speaks to that one.',
    }),
    id: Type.String({ minLength: 1, maxLength: MAX_ID_CHARS }),
  }),
);

export const DeploymentIn = component(
  'DeploymentIn',
  closedObject({
    target: Target,
    kind: oneOf(DEPLOYMENT_KINDS, failsWith('invalid_kind')),
    address: Type.Optional(
      nullable(Type.String({ minLength: 1, maxLength: MAX_ADDRESS_CHARS }), {
        description: 'The other side, in the words of its channel. A page has none.',
      }),
    ),
    provider: Type.Optional(
      nullable(Type.String({ minLength: 1, maxLength: 64 }), {
        description: 'Who carries it: `twilio`, for `sms` and `voice`. Other kinds have none.',
      }),
    ),
    provider_metadata: Type.Optional(
      boundedObject(
        { members: 100, bytes: MAX_METADATA_BYTES },
        'By kind. `web`: `title`, `greeting` (shown before the first message), `chats_per_minute` (of one address; 20), ' +
          '`new_visitors_per_day` (1,000). `sms`, `voice`: `account_sid`, `number` (in E.164), `api_base_url` (in place of `https://api.twilio.com`). ' +
          '`email`: `display_name`, and for a smith `owner_email`, whose mail alone it obeys.',
      ),
    ),
    secrets: Type.Optional(
      boundedObject(
        { members: 20, bytes: MAX_SECRETS_BYTES },
        'By kind; never shown again. `web`: `password`, which visitors then have to give. `sms`, `voice`: `auth_token`, of the account.',
      ),
    ),
    setup: Type.Optional(
      nullable(
        boundedObject(
          { members: 20, bytes: MAX_METADATA_BYTES },
          'In place of `address`, where a kind takes it: the reply has a `start_token`, and whoever writes that is bound. `email` gives the ' +
            'smith a mailbox of its own at once, named after `display_name`; `slack` an app of its own of that name, which with `owner_email` ' +
            'obeys that member alone.',
        ),
      ),
    ),
  }),
);

export const DeploymentPatch = component(
  'DeploymentPatch',
  closedObject({
    display_name: Type.Optional(
      nullable(Type.String({ minLength: 1, maxLength: MAX_TITLE_CHARS }), {
        description:
          'What people see: the title of a page, the name of a Slack app, the sender of a mailbox. Null leaves it as it is.',
      }),
    ),
    owner_email: Type.Optional(
      nullable(Type.String({ minLength: 3, maxLength: MAX_EMAIL_CHARS }), {
        description:
          'Whom alone a smith’s mailbox, or its Slack app until it is installed, obeys. Null leaves it as it is.',
      }),
    ),
  }),
);

const shown = {
  id: Type.String(),
  target: Target,
  kind: oneOf(DEPLOYMENT_KINDS),
  address: nullable(Type.String()),
  provider: nullable(Type.String()),
  provider_metadata: jsonObject(),
  secret_keys: Type.Array(Type.String(), { description: 'Names of the secrets that are kept.' }),
  mcp_url: Type.String({ description: 'Empty for other kinds than `mcp`.' }),
  page_url: Type.String({ description: 'Empty for other kinds than `web`.' }),
  status: oneOf(['pending', 'active', 'disconnected'], {
    description:
      '`pending`: nobody is bound yet. `disconnected`: its smith or agent is archived. It stays until it is deleted.',
  }),
  created_at: nullable(timestamp()),
};

export const Deployment = component('Deployment', Type.Object(shown));

export const CreatedDeployment = component(
  'CreatedDeployment',
  Type.Object({
    ...shown,
    start_token: Type.Optional(
      Type.String({
        description: 'With `setup`: whoever writes it to the account within a day, in any text, is bound. Shown once.',
      }),
    ),
    deep_link: Type.Optional(
      Type.String({ description: 'Opens the channel with the token, where it has such links.' }),
    ),
    prefilled_message: Type.Optional(Type.String({ description: 'What the person sends to be bound.' })),
    slack_app_id: Type.Optional(
      Type.String({ description: '`slack` with `setup`: the app that was made, as Slack knows it.' }),
    ),
    install_url: Type.Optional(
      Type.String({
        description: '`slack`: where somebody installs the app in a workspace that does not have it. Shown once.',
      }),
    ),
    state: Type.Optional(Type.String({ description: 'What `install_url` holds, by which the installation is known.' })),
  }),
);

export const McpMessage = component(
  'McpMessage',
  jsonObject({ description: 'A JSON-RPC 2.0 message of the protocol.' }),
);

export const DeploymentPath = Type.Object({ depid: Type.String() });
export const DeploymentQuery = Type.Object(pageQuery);

export type DeploymentIn = Static<typeof DeploymentIn>;
export type DeploymentPatch = Static<typeof DeploymentPatch>;
export type Deployment = Static<typeof Deployment>;
export type CreatedDeployment = Static<typeof CreatedDeployment>;
export type DeploymentPath = Static<typeof DeploymentPath>;
export type DeploymentQuery = Static<typeof DeploymentQuery>;
