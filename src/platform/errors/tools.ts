/**
 * MCP servers, approvals and the catalog. A fault of the remote server is 502. auth_required is 422, not 401: the
 * caller's own token is in order.
 */
import type { ErrorTexts } from '../../kernel/http/errors.ts';

export const toolErrors = {
  unknown_catalog_entry: {
    status: 404,
    message: 'The catalog has no entry with this slug. Take a slug from `GET /v1/catalog`.',
  },
  invalid_auth_kind: {
    status: 422,
    message:
      'The kind of authorization is not known. Use one of the values that this operation documents for `auth.kind`.',
  },
  invalid_client_mode: {
    status: 422,
    message:
      'The client mode is not known or does not suit this kind of authorization. Use one of the values that this operation documents for `auth.client_mode`.',
  },
  invalid_approval_policy: {
    status: 422,
    message: 'The approval policy is not valid. Send a list of rules, each with a `match` that is not empty.',
  },
  unsupported_policy_rule: {
    status: 422,
    message:
      'A rule of the approval policy asks for something that is not supported. Correct the `require` of the rule that `param` names.',
  },
  auth_required: {
    status: 422,
    message:
      'The MCP server asks for authorization that its registration does not give. Set `auth` on the server, then refresh it.',
  },
  auth_not_configured: {
    status: 422,
    message:
      'This provider or MCP server is not set up for connecting accounts. Save an OAuth client with `PUT /v1/tenant/providers/{provider}`, or set the `auth` of the server.',
  },
  client_unavailable: {
    status: 422,
    message:
      'There is no usable OAuth client for this sign-in. Save one with `PUT /v1/tenant/providers/{provider}`, choose another client mode, or correct the document at `client_id`.',
  },
  connect_failed: {
    status: 502,
    message: 'No connection to the remote server could be made. Check its address and that it is up, then try again.',
  },
  discovery_failed: {
    status: 502,
    message:
      'The remote server answered, but its tools or its sign-in could not be discovered. Check that the address speaks MCP, then refresh it.',
  },
  session_not_found: {
    status: 404,
    message:
      'There is no such session, or it has ended. Start a new one: `initialize` on an MCP deployment, a new checkout for a payment.',
  },
  session_mismatch: {
    status: 403,
    message: 'This session belongs to another caller. Use the token that started it, or start a session of your own.',
  },
} as const satisfies ErrorTexts;
