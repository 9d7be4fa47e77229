import type { Database } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { HttpReply } from '../../../kernel/http/operation.ts';
import { findTarget, type OAuthDependencies, resourceMetadata } from '../../authorization-server/index.ts';
import { DISCOVERY_HEADERS } from './get-server-metadata.ts';

export function getProtectedResource({ publicUrl }: Pick<OAuthDependencies, 'publicUrl'>) {
  return async ({ db, params }: { readonly db: Database; readonly params: { depid: string } }) => {
    if ((await findTarget(db, params.depid)) !== undefined) {
      return new HttpReply(200, resourceMetadata(publicUrl, params.depid), DISCOVERY_HEADERS);
    }
    throw new ApiError('not_found', { message: 'No MCP server is served there. Check the deployment’s `mcp_url`.' });
  };
}
