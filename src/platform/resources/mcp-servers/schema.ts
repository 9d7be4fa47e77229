/** MCP servers that turns may call. */
import type { Static } from 'typebox';
import { pageQuery } from '../../../kernel/http/paging.ts';
import {
  closedObject,
  component,
  failsWith,
  missingFailsWith,
  nullable,
  oneOf,
  timestamp,
} from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';

const MAX_URL_LENGTH = 2_048;
/** Access tokens in the form of JWTs are the longest. */
const MAX_SECRET_LENGTH = 16_384;
const MAX_RULES = 100;
const MAX_TOOL_NAMES = 1_000;
const MAX_TOOL_NAME_LENGTH = 256;
/** Longer ones are told as such; the closed sets are checked where they are read. */
const MAX_WORD_LENGTH = 64;

const KINDS =
  '`none`, `bearer` (a `secret` is sent as bearer token) or `oauth` (each smith’s user connects an account).';
const MODES =
  'How an OAuth client is had: `auto`, `registered` (that of the saved `provider`), `dynamic` or `metadata_document`; `none` for other kinds.';

const AuthIn = closedObject({
  kind: Type.Optional(
    nullable(Type.String({ maxLength: MAX_WORD_LENGTH, ...failsWith('invalid_auth_kind') }), { description: KINDS }),
  ),
  provider: Type.Optional(nullable(Type.String({ minLength: 1, maxLength: MAX_WORD_LENGTH }))),
  secret: Type.Optional(
    nullable(Type.String({ maxLength: MAX_SECRET_LENGTH }), {
      description: 'Never shown again. Left out, the one that is there stays, as long as the origin of `url` does.',
    }),
  ),
  client_mode: Type.Optional(
    nullable(Type.String({ maxLength: MAX_WORD_LENGTH, ...failsWith('invalid_client_mode') }), { description: MODES }),
  ),
});

const RuleIn = closedObject({
  match: Type.String({
    minLength: 1,
    maxLength: MAX_TOOL_NAME_LENGTH,
    description:
      'A glob over the names of tools (`*`: any characters, `?`: one), or one of the server’s hints: `@read_only`, ' +
      '`@destructive`, `@idempotent`, `@open_world`.',
    ...failsWith('invalid_approval_policy'),
    ...missingFailsWith('invalid_approval_policy'),
  }),
  require: Type.Optional(
    nullable(Type.String({ maxLength: MAX_WORD_LENGTH, ...failsWith('unsupported_policy_rule') }), {
      description: '`always` (when left out) or `never`.',
    }),
  ),
});

export const McpServerIn = component(
  'McpServerIn',
  closedObject({
    url: Type.Optional(
      nullable(Type.String({ maxLength: MAX_URL_LENGTH, ...failsWith('invalid_url') }), {
        description: '`https`, at public addresses alone. Checked again at every call and every redirect.',
      }),
    ),
    catalog: Type.Optional(
      nullable(Type.String({ maxLength: MAX_WORD_LENGTH }), {
        description: 'In place of `url`: the slug of a catalog entry, which also gives what is left out here.',
      }),
    ),
    auth: Type.Optional(AuthIn),
    tool_allowlist: Type.Optional(
      nullable(
        Type.Array(Type.String({ minLength: 1, maxLength: MAX_TOOL_NAME_LENGTH }), { maxItems: MAX_TOOL_NAMES }),
        {
          description: 'Names of the tools that turns may call. Null: every tool.',
        },
      ),
    ),
    approval_policy: Type.Optional(
      nullable(Type.Array(RuleIn, { maxItems: MAX_RULES, ...failsWith('invalid_approval_policy') }), {
        description: 'The first rule that fits a tool decides; where none does, no approval is asked for.',
      }),
    ),
  }),
);

const ShownTool = Type.Object({
  name: Type.String(),
  description: nullable(Type.String()),
  requires_approval: Type.Boolean(),
  enabled: Type.Boolean({ description: 'Whether turns are offered it.' }),
});

export const McpServer = component(
  'McpServer',
  Type.Object({
    id: Type.String(),
    name: Type.String(),
    url: Type.String(),
    auth: Type.Object({
      kind: oneOf(['none', 'bearer', 'oauth']),
      provider: nullable(Type.String()),
      client_mode: oneOf(['none', 'auto', 'registered', 'dynamic', 'metadata_document']),
    }),
    origin: oneOf(['custom', 'catalog'], { description: 'Where the address comes from.' }),
    catalog_slug: nullable(Type.String()),
    tool_allowlist: nullable(Type.Array(Type.String())),
    approval_policy: Type.Array(Type.Object({ match: Type.String(), require: oneOf(['always', 'never']) })),
    tools: Type.Array(ShownTool, { description: 'As the server listed them last.' }),
    tools_discovered: Type.Integer(),
    tools_refreshed_at: nullable(timestamp()),
    status: oneOf(['pending', 'ready', 'auth_required', 'unreachable', 'failed'], {
      description: 'What became of the last attempt to list its tools; `pending`: none has ended yet.',
    }),
    discovery_error: nullable(Type.String()),
    last_call_error: nullable(Type.String()),
    last_call_error_at: nullable(timestamp()),
    created_at: nullable(timestamp()),
  }),
);

export const McpServerPath = Type.Object({ name: Type.String() });
/** Of a server that is to be: names become part of the names of tools. */
export const NewMcpServerPath = Type.Object({
  name: Type.String({ pattern: '^[a-z0-9_-]{1,63}$', ...failsWith('invalid_name') }),
});
export const McpServerQuery = Type.Object(pageQuery);

export type McpServerIn = Static<typeof McpServerIn>;
export type McpServer = Static<typeof McpServer>;
export type McpServerPath = Static<typeof McpServerPath>;
