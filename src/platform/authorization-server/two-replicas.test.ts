/** What one replica has begun another ends, and what is good once is good once over all of them; the soak races more often. */
import { testTwoReplicas } from '../../../test/support/oauth-replicas.ts';

testTwoReplicas(2);
