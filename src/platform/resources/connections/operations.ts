import { HttpReply } from '../../../kernel/http/operation.ts';
import { pageOf } from '../../../kernel/http/paging.ts';
import { open, project } from '../../access/operation.ts';
import { authorizeConnection } from './authorize-connection.ts';
import { describeClient } from './client-metadata.ts';
import { createConnection } from './create-connection.ts';
import { deleteConnection } from './delete-connection.ts';
import type { ConnectionOperationDependencies } from './dependencies.ts';
import { getConnection, listConnections } from './list-connections.ts';
import { finishAuthorization } from './oauth-callback.ts';
import { refreshConnection } from './refresh-connection.ts';
import {
  AuthorizeIn,
  AuthorizeOut,
  CallbackQuery,
  ClientMetadataDocument,
  Connection,
  ConnectionCallbackOut,
  ConnectionIn,
  ConnectionPatch,
  ConnectionPath,
  ConnectionQuery,
  SmithPath,
} from './schema.ts';
import { updateConnection } from './update-connection.ts';

const credentialErrors = [
  'unknown_provider',
  'unsupported_credential',
  'empty_credentials',
  'empty_token',
  'auth_not_configured',
  'invalid_url',
];

export function connectionOperations(deps: ConnectionOperationDependencies) {
  return [
    project.read({
      id: 'smiths.connections.list',
      method: 'GET',
      path: '/v1/smiths/{sid}/connections',
      posture: 'any',
      scope: 'connections:read',
      summary: 'List the accounts connected to a smith, newest first',
      description: 'Never their tokens.',
      params: SmithPath,
      query: ConnectionQuery,
      reply: pageOf(Connection),
      errors: ['invalid_cursor', 'invalid_limit'],
      handler: listConnections,
    }),
    project.change({
      id: 'smiths.connections.create',
      method: 'POST',
      path: '/v1/smiths/{sid}/connections',
      posture: 'any',
      scope: 'connections:write',
      summary: 'Store a credential that was got elsewhere',
      description:
        'A smith has one connection of each provider: one that is there is replaced under its id, and the answer is 200. To ' +
        'have the user connect an account instead, call `authorize`.',
      status: 201,
      alsoStatus: [200],
      params: SmithPath,
      body: ConnectionIn,
      example: { provider: 'github', credential: { kind: 'bearer', access_token: 'gho_your-token' } },
      reply: Connection,
      errors: credentialErrors,
      handler: createConnection(deps),
    }),
    project.read({
      id: 'smiths.connections.get',
      method: 'GET',
      path: '/v1/smiths/{sid}/connections/{cid}',
      posture: 'any',
      scope: 'connections:read',
      summary: 'Get a connection',
      params: ConnectionPath,
      reply: Connection,
      handler: getConnection,
    }),
    project.change({
      id: 'smiths.connections.update',
      method: 'PATCH',
      path: '/v1/smiths/{sid}/connections/{cid}',
      posture: 'any',
      scope: 'connections:write',
      summary: 'Change a connection',
      description: 'A disabled one is not used. Another credential makes an expired one active again.',
      params: ConnectionPath,
      body: ConnectionPatch,
      example: { status: 'disabled' },
      reply: Connection,
      errors: ['empty_patch', 'invalid_state', ...credentialErrors],
      handler: updateConnection(deps),
    }),
    project.change({
      id: 'smiths.connections.delete',
      method: 'DELETE',
      path: '/v1/smiths/{sid}/connections/{cid}',
      posture: 'any',
      scope: 'connections:write',
      summary: 'Delete a connection',
      description: 'Its credential is erased at once, and revoked soon after at a provider that lets us.',
      params: ConnectionPath,
      handler: deleteConnection(deps),
    }),
    project.turn({
      id: 'smiths.connections.refresh',
      method: 'POST',
      path: '/v1/smiths/{sid}/connections/{cid}/refresh',
      posture: 'any',
      scope: 'connections:write',
      summary: 'Refresh a connection now',
      description: 'Turns do it by themselves, from five minutes before an access token expires.',
      params: ConnectionPath,
      reply: Connection,
      errors: ['refresh_failed', 'invalid_state', 'broker_unavailable'],
      handler: refreshConnection(deps),
    }),
    project.turn({
      id: 'smiths.connections.authorize',
      method: 'POST',
      path: '/v1/smiths/{sid}/connections/authorize',
      posture: 'any',
      scope: 'connections:write',
      summary: 'Get a link by which the user connects an account',
      description: 'Send the user’s browser there. Who opens the link connects an account of theirs to this smith.',
      params: SmithPath,
      body: AuthorizeIn,
      example: { provider: 'github', return_url: 'https://example.com/connected' },
      reply: AuthorizeOut,
      errors: [
        'unknown_provider',
        'auth_not_configured',
        'client_unavailable',
        'discovery_failed',
        'invalid_return_url',
      ],
      handler: authorizeConnection(deps),
    }),
    open.turn({
      id: 'oauth.callback',
      method: 'GET',
      path: '/v1/oauth/callback',
      posture: 'public',
      summary: 'Where providers send browsers back to',
      description:
        'The redirect URI to register at every provider. Goes on to the `return_url` of the sign-in, with `status=ok` and ' +
        '`connection_id`, or `status=error` and `error`.',
      query: CallbackQuery,
      reply: ConnectionCallbackOut,
      answers: ['redirect'],
      errors: ['invalid_state', 'connect_failed', 'broker_unavailable'],
      handler: finishAuthorization(deps),
    }),
    open.read({
      id: 'oauth.client_metadata',
      method: 'GET',
      path: '/oauth/client-metadata.json',
      posture: 'public',
      summary: 'This server as an OAuth client',
      description: 'Read by issuers whose clients are documents at an address.',
      reply: ClientMetadataDocument,
      handler: async () =>
        new HttpReply(200, describeClient(deps.publicUrl), { 'cache-control': 'public, max-age=3600' }),
    }),
  ];
}
