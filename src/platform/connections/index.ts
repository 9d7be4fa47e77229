/** Accounts that users connect to smiths: the client side of OAuth. */
export { countConnections, type Expiry, type Origin, saveConnection } from './connection-rows.ts';
export { type Connections, callbackUrlOf, createConnections, documentUrlOf } from './connections.ts';
export { type Credential, sealCredential } from './credential.ts';
export { eraseConnections, eraseProjectConnections, eraseServerAccounts } from './erase-connections.ts';
export { removeLinks } from './links.ts';
export { boundedFetch } from './protocol/bounded-fetch.ts';
export { checkEndpoint, DiscoveryFailure, discoverIssuer } from './protocol/discover-issuer.ts';
export { findProvider, planForProvider, type SavedProvider } from './provider-rows.ts';
export { clientSecretContext, credentialContext } from './secret-context.ts';
export { expireConnections, type FoundServer, findServerByName, providerNameOf, serverNameOf } from './servers.ts';
export { findWellKnown, wellKnownNames } from './well-known-providers.ts';
