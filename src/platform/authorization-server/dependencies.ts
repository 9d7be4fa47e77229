import type { Clock } from '../../kernel/clock/clock.ts';
import type { Database } from '../../kernel/db/database.ts';
import type { TokenIssuer } from '../access/issue-token.ts';
import type { SigningKeys } from '../access/signing-keys.ts';
import type { TokenVerifier } from '../access/verify-token.ts';
import type { ClientDocuments } from './client-documents.ts';

export interface OAuthDependencies {
  readonly db: Database;
  readonly clock: Clock;
  /** The issuer. */
  readonly publicUrl: string;
  /** A page of the operator's that asks for consent in the place of this server's own. */
  readonly consentUrl: string | undefined;
  readonly issuer: TokenIssuer;
  readonly verifier: TokenVerifier;
  readonly signingKeys: SigningKeys;
  readonly documents: ClientDocuments;
}
