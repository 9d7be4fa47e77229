/** Many races of the two replicas. */
import { testTwoReplicas } from '../../../test/support/oauth-replicas.ts';

testTwoReplicas(50);
