import { turnScenarios } from './platform-scenarios.ts';
import { testScenarios } from './run-scenario.ts';

testScenarios(turnScenarios);
