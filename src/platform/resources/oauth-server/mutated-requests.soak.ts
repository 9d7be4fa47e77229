/**
 * More requests, of a fresh seed:
 *
 *     IRONCRAFT_TEST_SEED=7 IRONCRAFT_TEST_OAUTH_MUTATIONS=10000 npm run test:all src/platform/resources/oauth-server/mutated-requests.soak.ts
 */
import { testBentRequests } from '../../../../test/hostile/oauth-attempts.ts';

testBentRequests(Number(process.env.IRONCRAFT_TEST_OAUTH_MUTATIONS ?? 2_000));
