"""Statistics of matched losses are pure functions of arrays.

L is everywhere an array of shape (R, Q, C): repetitions, queries, contenders.
A repetition samples judgments, and what an optimizer draws, anew; queries are what a data
set is a sample of.

References
----------
.. [Owen07] A. B. Owen. The pigeonhole bootstrap. Annals of Applied Statistics 1(2), 2007.
.. [WY93] P. H. Westfall, S. S. Young, Resampling-based multiple testing, Wiley, 1993.
.. [CC50] W. G. Cochran, G. M. Cox, Experimental designs, Wiley, 1950.
.. [MWR24] M. Mogstad, J. P. Romano, A. M. Shaikh, D. Wilhelm. Inference for ranks with
   applications to mobility across neighbourhoods and academic achievement across
   countries. Review of Economic Studies 91(1), 2024.
.. [RW05] J. P. Romano, M. Wolf, Exact and approximate stepdown methods for multiple hypothesis
   testing, Journal of the American Statistical Association 100(469), 2005.
.. [Sch87] D. J. Schuirmann, A comparison of the two one-sided tests procedure and the power
   approach, Journal of Pharmacokinetics and Biopharmaceutics 15, 1987.
.. [Pit39] E. J. G. Pitman, A note on normal correlation, Biometrika 31, 1939.
.. [Mor39] W. A. Morgan, A test for the significance of the difference between the two
   variances in a sample from a normal bivariate population, Biometrika 31, 1939.
.. [Wil27] E. B. Wilson, Probable inference, the law of succession, and statistical inference, Journal of the American
   Statistical Association 22(158), 1927.
.. [KG98] E. L. Korn, B. I. Graubard, Confidence intervals for proportions with small expected number of positive
   counts estimated from survey data, Survey Methodology 24(2), 1998.
.. [NB03] C. Nadeau, Y. Bengio. Inference for the generalization error. Machine Learning
   52, 2003.
"""
