"""Geometry of point clouds: distances along the manifold, and coordinates that keep them.

The way from points to coordinates, each step usable alone:

1. `neighbor_graph`: join every point to its k nearest others, with the smallest k that connects the cloud. Edges are
   Euclidean and short, so they stay on the manifold; long ones would be shortcuts through the space around it.
2. `landmark_geodesics`: D_geo(l, i), the shortest path through that graph from landmark l to point i. A few landmarks
   stand for all pairs: m rows of n distances instead of n² of them.
3. `landmark_mds`: classical MDS places the landmarks, B = -J D² J / 2 = V L Vᵀ with coordinates V sqrt(L), and
   triangulation places all other points from their distances to the landmarks. The spectrum L / m shows how many
   dimensions the manifold has (`effective_dimension`).
4. `landmark_isomap`: the three steps as one scikit-learn estimator, which also places new points.

`DiffusionDistance` takes the place of steps 1 and 2 where a few stray points bridge what is far apart: it compares
random walks, for which a path counts for as much as walks take it. Clouds that fall apart are at finite distances.
`DenseGeodesics` measures lengths, as step 2 does, but of ways that keep to dense points.

Distances are in the units of the points. A graph that falls apart raises `DisconnectedGraphError` where it may not
grow; points that coincide are at distance 0. Memory grows with points x neighbors and points x landmarks, never with
the square of the number of points.
"""

from viewsplice.geometry.bridges import DenseGeodesics as DenseGeodesics
from viewsplice.geometry.diffusion import Diffusion as Diffusion
from viewsplice.geometry.diffusion import DiffusionDistance as DiffusionDistance
from viewsplice.geometry.geodesics import Geodesics as Geodesics
from viewsplice.geometry.geodesics import choose_landmarks as choose_landmarks
from viewsplice.geometry.geodesics import graph_geodesics as graph_geodesics
from viewsplice.geometry.geodesics import landmark_geodesics as landmark_geodesics
from viewsplice.geometry.isomap import LandmarkIsomap as LandmarkIsomap
from viewsplice.geometry.isomap import landmark_isomap as landmark_isomap
from viewsplice.geometry.landmark_mds import LandmarkMDS as LandmarkMDS
from viewsplice.geometry.landmark_mds import effective_dimension as effective_dimension
from viewsplice.geometry.landmark_mds import landmark_mds as landmark_mds
from viewsplice.geometry.neighbors import NeighborGraph as NeighborGraph
from viewsplice.geometry.neighbors import neighbor_graph as neighbor_graph
