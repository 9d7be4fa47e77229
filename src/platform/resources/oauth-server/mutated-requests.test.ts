import { testBentRequests } from '../../../../test/hostile/oauth-attempts.ts';

testBentRequests(100);
